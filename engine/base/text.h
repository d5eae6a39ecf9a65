// Text from outside (options, files, environment) on its way into messages and files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stage_model {

// Control bytes and whatever is no UTF-8 as \xNN, the rest as it is.
std::string printable(std::string_view text);

// The text in double quotes, cut after `limit` bytes, everything unprintable written as \xNN: safe
// for one line of a log or a terminal.
std::string quote(std::string_view text, std::size_t limit = 200);

// One line for a human: control characters become spaces, cut after `limit` bytes.
std::string one_line(std::string_view text, std::size_t limit = 1000);

// strerror, thread-safe.
std::string errno_text(int error);

bool valid_utf8(std::string_view text);

// Bytes below 0x20, and 0x7f.
bool has_control(std::string_view text);

// As people put secrets into variables: without blanks and line ends around it, and without one
// pair of quotation marks (az prints values in them unless it is told "-o tsv").
std::string_view pasted(std::string_view text);

// ASCII only, whatever the locale.
std::string lowered(std::string_view text);

// Two lower-case digits a byte.
std::string to_hex(std::string_view bytes);

// The `size` bytes that these digits stand for, of either case; "" if it is anything else.
std::string from_hex(std::string_view text, std::size_t size);

// The value of a hexadecimal digit of either case, below 0 for another character.
int hex_digit(char c);

// %XX for every byte but ASCII letters and digits, "-._~" and those of `kept`.
std::string percent_encode(std::string_view text, std::string_view kept = {});
// Nothing for a '%' without two hex digits behind it.
std::optional<std::string> percent_decode(std::string_view text);

// %XX as the bytes that they stand for; anything else as it is.
std::string unescaped(std::string_view text);

// A name that is safe as a path component and in a log: [A-Za-z0-9._-]{1,64}, not "." or "..".
bool valid_job(std::string_view job);

// [A-Za-z_][A-Za-z0-9_]*, at most 128 bytes.
bool valid_variable_name(std::string_view name);

// Absolute, no control characters, no empty, "." or ".." component, no slash at the end (but "/").
bool normal_absolute_path(std::string_view path);

}  // namespace stage_model
