// The engine's small messages beside the data.
#include "engine/cast/control.h"

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stage_model;
  const std::string_view text = fuzz::text_of(data, size);
  cast::Message message;
  if (cast::decode(text, &message)) {
    fuzz::expect(cast::encode(message) == text, "a message comes out as it went in");
  }
  return 0;
}
