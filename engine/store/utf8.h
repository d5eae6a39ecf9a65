// Is this valid UTF-8? Names are bytes; only how they are shown and stored in JSON depends on it.
#pragma once

#include <simdjson.h>

#include <string_view>

namespace stage_model::store {

inline bool valid_utf8(std::string_view text) {
  return simdjson::validate_utf8(text.data(), text.size());
}

}  // namespace stage_model::store
