// Reads the engine's status pipe (stage_model/channel.h). Pure: bytes in, events out. The engine
// runs as the user, so its lines are as trustworthy as the user: they are bounded and made one
// line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stage_model/exit_code.h"

namespace stage_model::launch {

struct StatusEvent {
  enum class Word { kAlive, kStage, kFailed, kConnected, kStaged };
  Word word = Word::kAlive;
  std::uint64_t done = 0;  // kAlive: bytes
  std::uint64_t total = 0;
  std::string text;  // kStage: name; kStaged: directory; kFailed: reason
  ExitCode code = ExitCode::kStopped;
  std::string node;  // kFailed; "" if unknown
};

class StatusReader {
 public:
  // The events of all lines that are complete now. Unknown words and malformed lines are skipped;
  // so are lines longer than kMaxStatusLine.
  std::vector<StatusEvent> append(std::string_view bytes);

 private:
  std::string line_;
  bool too_long_ = false;
};

}  // namespace stage_model::launch
