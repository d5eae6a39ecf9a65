#include <fmt/format.h>

#include "engine/base/variables.h"
#include "engine/source/register.h"
#include "engine/source/source.h"

namespace stage_model::source {

Result<std::unique_ptr<Source>> open_source(std::string_view url, const Variables& variables,
                                            const TransferOptions& options) {
  std::string known;
  for (const Kind* kind : kinds()) {
    if (kind->matches(url, variables)) return kind->open(url, variables, options);
    known += fmt::format("{}{}", known.empty() ? "" : ", ", kind->scheme);
  }
  // A URL that nobody knows may still hold a secret: only its scheme is repeated.
  const std::size_t end = url.find("://");
  if (end == std::string_view::npos) {
    return fail(ExitCode::kUsage, "SOURCE is not a URL: use " + known);
  }
  return fail(ExitCode::kUsage, fmt::format("'{}://…' is not a source that we know: use {}",
                                            url.substr(0, std::min(end, std::size_t{16})), known));
}

}  // namespace stage_model::source
