// The engine's status pipe: written by a process of the user, read by root.
#include <algorithm>

#include "engine/launch/engine_status.h"
#include "stage_model/channel.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace stage_model;

bool one_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using Word = launch::StatusEvent::Word;
  const std::string_view text = fuzz::text_of(data, size);
  launch::StatusReader whole;
  const auto events = whole.append(text);
  for (const launch::StatusEvent& event : events) {
    fuzz::expect(event.text.size() <= kMaxStatusLine && event.node.size() <= kMaxStatusLine,
                 "a line is bounded");
    if (event.word == Word::kStaged) continue;  // a path, compared and not shown
    fuzz::expect(one_line(event.text) && one_line(event.node), "what is shown is one line");
    fuzz::expect(event.word != Word::kFailed || event.code != ExitCode::kStaged,
                 "a failure is one");
  }
  launch::StatusReader cut;
  std::size_t count = 0;
  for (const char& c : text) count += cut.append({&c, 1}).size();
  fuzz::expect(count == events.size(), "pieces do not matter");
  return 0;
}
