// The request that travels with the job. The user may have forged it; the prolog reads it as root.
#include "spank/ask.h"

#include "spank/destination.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace stage_model;

void check(std::string_view text, const spank::Site& site) {
  const auto ask = spank::decode_ask(text, site);
  if (!fuzz::ok_or_one_line(ask)) return;
  fuzz::expect(!ask->models.empty() && ask->models.size() <= site.config.max_models,
               "the number of models is bounded");
  const std::string again = spank::encode_ask(*ask);
  const auto reread = spank::decode_ask(again, site);
  fuzz::expect(reread && spank::encode_ask(*reread) == again, "a request comes out as it went in");
  const auto places = spank::plan_destinations(*ask, site.config, "user");
  if (!fuzz::ok_or_one_line(places)) return;
  for (const ModelRequest& run : places->runs) {
    fuzz::expect(!spank::root_of(run.directory, site.config.roots).empty(), "it goes below a root");
    fuzz::expect((run.directory + "/").find("/../") == std::string::npos, "and stays there");
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  spank::Site site;
  check(text, site);
  site.known = false;  // on a submit host without the file; the prolog checks again
  fuzz::ok_or_one_line(spank::decode_ask(text, site));
  return 0;
}
