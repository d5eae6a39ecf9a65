// The launcher's request, read as root.
#include "stage_model/request.h"

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stage_model;
  const auto request = parse_request(std::string(fuzz::text_of(data, size)));
  if (!fuzz::ok_or_one_line(request)) return 0;
  fuzz::expect(request->index < request->nodes.size(), "the node is one of the list");
  const std::string text = write_request(*request);
  const auto again = parse_request(text);
  fuzz::expect(again && write_request(*again) == text, "a request comes out as it went in");
  return 0;
}
