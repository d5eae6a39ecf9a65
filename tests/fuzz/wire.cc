// What a stranger may send to a launcher: bounded, and the same however it is cut into pieces. What
// is accepted is exactly what a launcher would have sent.
#include "engine/launch/wire.h"

#include "tests/fuzz/fuzz.h"

namespace {

using namespace stage_model;

// Frames one after another, as bytes again.
std::string frames(std::string_view bytes, std::size_t step) {
  launch::FrameReader reader;
  std::string out;
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, step);
    bytes.remove_prefix(piece.size());
    reader.append(piece);
    launch::Frame frame;
    launch::FrameReader::State state = reader.next(&frame);
    for (; state == launch::FrameReader::State::kFrame; state = reader.next(&frame)) {
      fuzz::expect(frame.body.size() <= launch::kMaxGreeting, "a stranger's message is bounded");
      out += launch::encode_frame(frame.type, frame.body);
    }
    if (state != launch::FrameReader::State::kBroken) continue;
    fuzz::expect(reader.next(&frame) == state, "what is broken stays broken");
    return out;
  }
  return out;
}

template <class T>
void same(const std::optional<T>& message, std::string_view body) {
  fuzz::expect(!message || launch::encode(*message) == body, "a message comes out as it went in");
}

void bodies(std::string_view body) {
  same(launch::decode_hello(body), body);
  same(launch::decode_fence(body), body);
  same(launch::decode_modex(body), body);
  same(launch::decode_failure(body), body);
  const auto number = launch::decode_number(body);
  fuzz::expect(!number || launch::encode_number(*number) == body,
               "a number comes out as it went in");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const std::string whole = frames(text, text.size());
  fuzz::expect(text.substr(0, whole.size()) == whole, "a frame comes out as it went in");
  if (text.size() <= 1024) {
    fuzz::expect(frames(text, 1) == whole, "pieces do not matter");
  }
  fuzz::expect(frames(text, 13) == whole, "pieces do not matter");
  bodies(text);
  if (text.size() > launch::kFrameHeader) bodies(text.substr(launch::kFrameHeader));
  return 0;
}
