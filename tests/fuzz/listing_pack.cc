// The plan's input as rank 0 broadcasts it.
#include "engine/plan/names.h"
#include "engine/plan/pack.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stage_model;
  const std::string_view text = fuzz::text_of(data, size);
  const auto listing = plan::unpack(text);
  if (!fuzz::ok_or_one_line(listing)) return 0;
  const std::string packed = plan::pack(*listing);
  const auto again = plan::unpack(packed);
  fuzz::expect(again && plan::pack(*again) == packed, "a listing comes out as it went in");
  fuzz::expect(packed.size() == text.size(), "nothing is lost");
  fuzz::ok_or_one_line(plan::check_names(*listing, "/models/x"));
  return 0;
}
