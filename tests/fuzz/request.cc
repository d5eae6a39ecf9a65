// The request that travels with the job. The user may have forged it; the prolog reads it as root.
#include "stage_model/request.h"

#include "spank/destination.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace stage_model;

void check(std::string_view text, const Site& site) {
  const auto request = decode_request(text, site);
  if (!fuzz::ok_or_one_line(request)) return;
  fuzz::expect(!request->models.empty() && request->models.size() <= site.config.max_models,
               "the number of models is bounded");
  const std::string again = encode_request(*request);
  const auto reread = decode_request(again, site);
  fuzz::expect(reread && encode_request(*reread) == again, "a request comes out as it went in");
  const auto places = spank::plan_destinations(*request, site.config, "user");
  if (!fuzz::ok_or_one_line(places)) return;
  for (const EngineCommand& run : places->runs) {
    fuzz::expect(!root_of(run.directory, site.config.roots).empty(), "it goes below a root");
    fuzz::expect((run.directory + "/").find("/../") == std::string::npos, "and stays there");
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  Site site;
  check(text, site);
  site.known = false;  // on a submit host without the file; the prolog checks again
  fuzz::ok_or_one_line(decode_request(text, site));
  return 0;
}
