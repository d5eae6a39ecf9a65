#include "engine/contract/toml_reader.h"

#include <algorithm>

#include "engine/base/text.h"
#include "stage_model/units.h"

namespace stage_model {
namespace {

// TOML can write a NUL as \u0000; in a path or an argument it would cut the text short.
bool usable(const std::string& text) { return text.find('\0') == std::string::npos; }

std::string line_of(const toml::source_region& where) {
  return where.begin ? std::to_string(where.begin.line) : "?";
}

std::string number_text(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

bool beyond_ascii(char c) { return static_cast<unsigned char>(c) >= 0x80; }

// Where a quoted text or a comment that begins at text[at] ends; "" if none does.
std::string_view closing(std::string_view text, std::size_t at) {
  if (text[at] == '#') return "\n";
  for (const std::string_view quote : {"\"\"\"", "'''", "\"", "'"}) {
    if (text.substr(at).starts_with(quote)) return quote;
  }
  return "";
}

// The place of the first character beyond ASCII that is neither in quotes nor in a comment, or that
// a backslash precedes; npos if there is none. There toml++ asks whether it is a blank, holds it
// for impossible that it is none, and the compiler may do what it likes. What is no TOML for
// another reason is left to the parser.
std::size_t stray_character(std::string_view text) {
  std::string_view end;  // of the quoted text or comment that text[i] is in; "" outside
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (end.empty()) {
      if (beyond_ascii(text[i])) return i;
      end = closing(text, i);
      if (end.size() == 3) i += 2;
    } else if (text.substr(i).starts_with(end)) {
      // Two more quotes may stand before the three that end a text of several lines.
      const std::size_t most = end.size() == 3 ? 5 : 1;
      i += std::min(std::min(text.find_first_not_of(end[0], i), text.size()) - i, most) - 1;
      end = "";
    } else if (text[i] == '\n' && end.size() == 1) {
      end = "";  // a text in quotes that did not end with its line: the parser says so
    } else if (text[i] == '\\' && end[0] == '"') {
      // At a line's end, in a text of several, it joins that line to the next one's first word.
      const std::size_t next = end.size() == 3 ? text.find_first_not_of(" \t\r\n", i + 1) : i + 1;
      if (next < text.size() && beyond_ascii(text[next])) return next;
      i = std::max(i + 1, std::min(next, text.size()) - 1);
    }
  }
  return std::string_view::npos;
}

}  // namespace

Result<toml::table> parse_toml(std::string_view text, const std::string& file, ExitCode code) {
  if (const std::size_t at = stray_character(text); at != std::string_view::npos) {
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<long>(at), '\n');
    return fail(code,
                file + ":" + std::to_string(line) +
                    ": characters beyond ASCII stand in quotes or comments only, and not after "
                    "a backslash");
  }
  // toml++ tests its own nesting limit, so hostile depth cannot exhaust the stack.
  toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    return fail(code, file + ":" + line_of(parsed.error().source()) + ": " +
                          one_line(parsed.error().description(), 300));
  }
  return std::move(parsed).table();
}

TomlReader::TomlReader(const toml::table& table, std::string file, std::string section,
                       ExitCode code)
    : table_(table), file_(std::move(file)), section_(std::move(section)), code_(code) {}

const toml::node* TomlReader::find(std::string_view key) {
  known_.emplace_back(key);
  return ok() ? table_.get(key) : nullptr;
}

const toml::table* TomlReader::table(std::string_view key) {
  const toml::node* node = find(key);
  if (node == nullptr) return nullptr;
  if (!node->is_table()) wrong_type(key, "a table");
  return node->as_table();
}

const toml::array* TomlReader::array(std::string_view key) {
  const toml::node* node = find(key);
  if (node == nullptr) return nullptr;
  if (!node->is_array()) wrong_type(key, "an array");
  return node->as_array();
}

void TomlReader::read(std::string_view key, std::string& out) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  const auto value = node->value_exact<std::string>();
  if (!value) return wrong_type(key, "a text in quotes");
  if (!usable(*value)) return reject(key, "must not contain a NUL character");
  out = *value;
}

void TomlReader::read(std::string_view key, std::vector<std::string>& out) {
  const toml::array* items = array(key);
  if (items == nullptr) return;
  out.clear();
  for (const toml::node& item : *items) {
    const auto value = item.value_exact<std::string>();
    if (!value) return wrong_type(key, "an array of texts in quotes");
    if (!usable(*value)) return reject(key, "must not contain a NUL character");
    out.push_back(*value);
  }
}

void TomlReader::read(std::string_view key, std::map<std::string, std::string>& out) {
  const toml::table* items = table(key);
  if (items == nullptr) return;
  out.clear();
  for (const auto& [name, item] : *items) {
    const auto value = item.value_exact<std::string>();
    if (!value) return wrong_type(key, "a table of texts in quotes");
    if (!usable(*value)) return reject(key, "must not contain a NUL character");
    out.emplace(std::string(name.str()), *value);
  }
}

void TomlReader::read_integer(std::string_view key, std::int64_t low, std::int64_t high,
                              std::int64_t& out) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  const auto value = node->value_exact<std::int64_t>();
  if (!value) return wrong_type(key, "a whole number");
  if (*value < low || *value > high) {
    return reject(key, "must be from " + std::to_string(low) + " to " + std::to_string(high));
  }
  out = *value;
}

void TomlReader::read_seconds(std::string_view key, double low, double high, double& out) {
  const toml::node* node = find(key);
  if (node == nullptr) return;
  double seconds = 0;
  if (const auto text = node->value_exact<std::string>()) {
    const auto parsed = parse_duration(*text);
    if (!parsed) return reject(key, parsed.error().message);
    seconds = *parsed;
  } else if (node->is_integer() || node->is_floating_point()) {
    seconds = node->value<double>().value_or(-1);
  } else {
    return wrong_type(key, "seconds (90) or a duration in quotes (\"30m\")");
  }
  // Written so that a NaN, which TOML can express, is refused too.
  if (!(seconds >= low && seconds <= high)) {
    return reject(key,
                  "must be from " + number_text(low) + " to " + number_text(high) + " seconds");
  }
  out = seconds;
}

void TomlReader::require(std::string_view key) {
  if (ok() && table_.get(key) == nullptr) reject(key, "is missing");
}

void TomlReader::wrong_type(std::string_view key, const char* expected) {
  reject(key, std::string("must be ") + expected);
}

void TomlReader::reject(std::string_view key, const std::string& why) {
  if (!ok()) return;
  const toml::node* node = table_.get(key);
  const toml::source_region& where = node != nullptr ? node->source() : table_.source();
  const std::string name = section_.empty() ? std::string(key) : section_ + "." + std::string(key);
  error_ = Error{code_, file_ + ":" + line_of(where) + ": " + name + ": " + why};
}

void TomlReader::reject(const Error& error) {
  if (ok()) error_ = error;
}

Status TomlReader::finish() {
  if (ok()) {
    for (const auto& [key, node] : table_) {
      if (std::find(known_.begin(), known_.end(), key.str()) != known_.end()) continue;
      std::string names;
      for (const std::string& name : known_) names += (names.empty() ? "" : ", ") + name;
      error_ = Error{code_, file_ + ":" + line_of(key.source()) + ": " +
                                (section_.empty() ? "" : section_ + ".") +
                                one_line(key.str(), 100) + ": unknown key; known here: " + names};
      break;
    }
  }
  if (!ok()) return tl::unexpected<Error>(error_);
  return {};
}

}  // namespace stage_model
