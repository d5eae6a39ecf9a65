// Names are bytes. In the manifest they stand in JSON, which is UTF-8: valid UTF-8 stays readable,
// '%', '"', '\', control bytes and everything of an invalid name become %XX.
#pragma once

#include <string>
#include <string_view>

namespace stage_model::store {

std::string encode_name(std::string_view bytes);

// The exact inverse; false for text that encode_name() does not make ("%" without two digits).
bool decode_name(std::string_view text, std::string* bytes);

// Relative, no empty, "." or ".." component, no NUL, and not below our own directory. Listings are
// checked by plan; this guards against what a manifest or journal on disk may say.
bool safe_name(std::string_view name);

}  // namespace stage_model::store
