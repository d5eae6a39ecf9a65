// The engine's small messages beside the data.
#include "engine/mpi/control.h"

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stage_model;
  const std::string_view text = fuzz::text_of(data, size);
  mpi::Message message;
  if (mpi::decode(text, &message)) {
    fuzz::expect(mpi::encode(message) == text, "a message comes out as it went in");
  }
  return 0;
}
