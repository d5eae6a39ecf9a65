#include "engine/source/register.h"

#include <array>

// The line of each source. Its Kind is defined in the file of that name: azure.cc, file.cc, …
// https is last: other stores have https URLs of their own.
#define STAGE_KINDS(KIND) \
  KIND(kAzure)            \
  KIND(kFile)             \
  KIND(kS3)               \
  KIND(kGcs)              \
  KIND(kHf)               \
  KIND(kHttps)

namespace stage_model::source {

#define STAGE_DECLARE(name) extern const Kind name;
STAGE_KINDS(STAGE_DECLARE)
#undef STAGE_DECLARE

std::span<const Kind* const> kinds() {
#define STAGE_POINTER(name) &(name),
  static constexpr std::array kAll = {STAGE_KINDS(STAGE_POINTER)};
#undef STAGE_POINTER
  return kAll;
}

}  // namespace stage_model::source
