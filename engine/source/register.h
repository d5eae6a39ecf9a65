// All kinds of sources, in the order in which they are asked. To add one: a new file with its
// Kind, and one line in register.cc.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "engine/base/variables.h"
#include "engine/source/source.h"

namespace stage_model::source {

struct Kind {
  const char* scheme;  // for the message that lists what there is: "az://ACCOUNT/CONTAINER/PREFIX/"
  // Is this URL for us? By its form alone, besides variables that name endpoints.
  bool (*matches)(std::string_view url, const Variables& variables);
  Result<std::unique_ptr<Source>> (*open)(std::string_view url, const Variables& variables,
                                          const TransferOptions& options);
};

std::span<const Kind* const> kinds();

}  // namespace stage_model::source
