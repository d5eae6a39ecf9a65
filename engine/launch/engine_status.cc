#include "engine/launch/engine_status.h"

#include <charconv>
#include <optional>

#include "engine/base/text.h"
#include "engine/launch/wire.h"
#include "stage_model/channel.h"

namespace stage_model::launch {
namespace {

// Cuts the first word off `rest`.
std::string_view take_word(std::string_view* rest) {
  const std::size_t end = rest->find(' ');
  const std::string_view word = rest->substr(0, end);
  *rest = end == std::string_view::npos ? std::string_view() : rest->substr(end + 1);
  return word;
}

template <class Number>
bool parse_number(std::string_view word, Number* number) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *number);
  return error == std::errc() && end == word.data() + word.size();
}

std::optional<StatusEvent> parse_line(std::string_view line) {
  StatusEvent event;
  const std::string_view word = take_word(&line);
  if (word == "alive") {
    event.word = StatusEvent::Word::kAlive;
    const bool good =
        parse_number(take_word(&line), &event.done) && parse_number(take_word(&line), &event.total);
    if (!good) return std::nullopt;
  } else if (word == "stage") {
    event.word = StatusEvent::Word::kStage;
    event.text = one_line(line, kMaxReason);
  } else if (word == "connected") {
    event.word = StatusEvent::Word::kConnected;
  } else if (word == "staged") {
    event.word = StatusEvent::Word::kStaged;
    event.text = std::string(line);
  } else if (word == "failed") {
    event.word = StatusEvent::Word::kFailed;
    int code = 0;
    if (!parse_number(take_word(&line), &code)) return std::nullopt;
    const bool known =
        code >= static_cast<int>(ExitCode::kUsage) && code <= static_cast<int>(ExitCode::kStopped);
    event.code = known ? static_cast<ExitCode>(code) : ExitCode::kStopped;
    event.node = one_line(take_word(&line), kMaxReason);
    if (event.node == "-") event.node.clear();
    event.text = one_line(line, kMaxReason);
  } else {
    return std::nullopt;
  }
  return event;
}

}  // namespace

std::vector<StatusEvent> StatusReader::append(std::string_view bytes) {
  std::vector<StatusEvent> events;
  for (const char c : bytes) {
    if (c != '\n') {
      // The newline counts too: a line is at most kMaxStatusLine bytes with it.
      if (line_.size() + 1 >= static_cast<std::size_t>(kMaxStatusLine)) too_long_ = true;
      if (!too_long_) line_.push_back(c);
      continue;
    }
    if (!too_long_) {
      if (const auto event = parse_line(line_)) events.push_back(*event);
    }
    line_.clear();
    too_long_ = false;
  }
  return events;
}

}  // namespace stage_model::launch
