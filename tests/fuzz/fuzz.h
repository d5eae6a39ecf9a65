// What the fuzz targets share. A target is one file with LLVMFuzzerTestOneInput; CMakeLists.txt
// says who calls it. A property that does not hold ends the process, as a crash does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "stage_model/result.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace stage_model::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline void expect(bool holds, const char* property) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", property);
  std::abort();
}

// Every error is one line that says something, whatever the input was.
template <class T>
bool ok_or_one_line(const Result<T>& result) {
  if (result) return true;
  const std::string& message = result.error().message;
  expect(!message.empty(), "an error says something");
  expect(message.find_first_of("\n\r") == std::string::npos, "an error is one line");
  expect(message.find('\0') == std::string::npos, "an error can be printed");
  return false;
}

}  // namespace stage_model::fuzz
