// The small messages between the schedulers of the ranks.
#include "engine/transfer/messages.h"

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stage_model;
  const std::string_view text = fuzz::text_of(data, size);
  transfer::Message message;
  if (transfer::decode(text, &message)) {
    fuzz::expect(transfer::encode(message) == text, "a message comes out as it went in");
  }
  return 0;
}
