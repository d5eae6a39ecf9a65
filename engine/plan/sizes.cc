#include "engine/plan/sizes.h"

#include <fmt/format.h>

#include "engine/plan/names.h"
#include "stage_model/units.h"

namespace stage_model::plan {

Status check_sizes(const Listing& listing) {
  std::uint64_t total = 0;
  for (const Object& object : listing.objects) {
    if (object.size > kMaxBytes - total) {
      return fail(
          ExitCode::kSource,
          fmt::format(
              "object {} has {} bytes by the source's list{}: more than {} cannot be "
              "staged; exclude it if that is a mistake",
              printable(object.name), object.size,
              object.size > kMaxBytes ? "" : fmt::format(", {} before it", format_size(total)),
              format_size(kMaxBytes)));
    }
    total += object.size;
  }
  return {};
}

}  // namespace stage_model::plan
