// The end of what a program printed, for a message of one line. Bounded, whatever it prints.
#pragma once

#include <string>
#include <string_view>

namespace stage_model::launch {

class Tail {
 public:
  void add(std::string_view text);
  // The last line with letters or digits in it (not a rule of dashes), printable, at most 200
  // bytes; "" if there is none.
  std::string last_line() const;

 private:
  std::string text_;
};

}  // namespace stage_model::launch
