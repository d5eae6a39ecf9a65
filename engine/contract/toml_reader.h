// Strict reading of a TOML table: every key has one type, an unknown key is an error, and an error
// names file, line and key.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#ifndef TOML_HEADER_ONLY
#define TOML_HEADER_ONLY 1
#endif
#ifndef TOML_EXCEPTIONS
#define TOML_EXCEPTIONS 0
#endif
// toml++ 3.3 asserts that a table's name begins like one before it looks ("[.x"), and lets clang
// assume so in release builds: a site's typo must be an error with its line, in any build.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expr) static_assert(true)
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include "stage_model/result.h"

namespace stage_model {

// Parses text; `file` stands for it in messages. Errors have the given code. Characters beyond
// ASCII stand in quotes or comments only, as TOML 1.0 has it, whatever the parser would let pass.
Result<toml::table> parse_toml(std::string_view text, const std::string& file, ExitCode code);

// Reads one table. The first error is kept and everything after it does nothing, so that the caller
// reads all keys in a row and looks at finish() once. A missing key leaves the target as it is.
class TomlReader {
 public:
  // `table` outlives the reader. `section` is "" or the table's own name.
  TomlReader(const toml::table& table, std::string file, std::string section, ExitCode code);

  void read(std::string_view key, std::string& out);
  void read(std::string_view key, std::vector<std::string>& out);
  void read(std::string_view key, std::map<std::string, std::string>& out);
  void read_integer(std::string_view key, std::int64_t low, std::int64_t high, std::int64_t& out);
  // A number of seconds, or text with a unit ("30m").
  void read_seconds(std::string_view key, double low, double high, double& out);
  template <class Integer>
  void read_integer(std::string_view key, std::int64_t low, std::int64_t high, Integer& out) {
    auto value = static_cast<std::int64_t>(out);
    read_integer(key, low, high, value);
    out = static_cast<Integer>(value);
  }

  // The raw node, or null; counts as known.
  const toml::node* find(std::string_view key);
  // A sub-table; null where it is missing or of the wrong type (which is an error).
  const toml::table* table(std::string_view key);
  const toml::array* array(std::string_view key);

  void require(std::string_view key);  // missing is an error
  // Records an error at a key; the first one stays.
  void reject(std::string_view key, const std::string& why);
  void reject(const Error& error);  // of a reader of a sub-table
  [[nodiscard]] bool ok() const { return error_.message.empty(); }

  // The first error; else an error for the first key that nobody asked for.
  [[nodiscard]] Status finish();

 private:
  void wrong_type(std::string_view key, const char* expected);

  const toml::table& table_;
  std::string file_;
  std::string section_;
  ExitCode code_;
  std::vector<std::string> known_;
  Error error_;
};

}  // namespace stage_model
