// The launcher's order, read as root.
#include "stage_model/launch_order.h"

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stage_model;
  const auto order = parse_order(std::string(fuzz::text_of(data, size)));
  if (!fuzz::ok_or_one_line(order)) return 0;
  fuzz::expect(order->index < order->nodes.size(), "the node is one of the list");
  const std::string text = write_order(*order);
  const auto again = parse_order(text);
  fuzz::expect(again && write_order(*again) == text, "an order comes out as it went in");
  return 0;
}
