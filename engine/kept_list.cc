#include "engine/kept_list.h"

#include <fmt/format.h>

#include <cstddef>

#include "engine/plan/pack.h"
#include "engine/store/store.h"

namespace stage_model {
namespace {

// To be raised when plan::pack() changes.
constexpr std::string_view kFormat = "stage-model list 1";

// What tells one filter from another; no name has a NUL.
std::string filter_key(const plan::Filter& filter) {
  std::string out;
  for (const auto* list : {&filter.include, &filter.exclude, &filter.names}) {
    for (const std::string& text : *list) out.append(text).push_back('\0');
    out.push_back('\0');
  }
  return out;
}

// The first line: it stands for everything behind it, and for the filter.
std::string head(std::string_view packed, const plan::Filter& filter) {
  std::string all = filter_key(filter);
  all += packed;
  const store::Digest sum =
      store::digest(reinterpret_cast<const std::byte*>(all.data()), all.size());
  return fmt::format("{} {:016x}{:016x}\n", kFormat, sum.high, sum.low);
}

}  // namespace

std::string write_kept_list(const plan::Listing& listing, const plan::Filter& filter) {
  const std::string packed = plan::pack(listing);
  return head(packed, filter) + packed;
}

std::optional<plan::Listing> read_kept_list(std::string_view text, const plan::Filter& filter) {
  const std::size_t line = text.find('\n');
  if (line == std::string_view::npos) return std::nullopt;
  const std::string_view packed = text.substr(line + 1);
  if (text.substr(0, line + 1) != head(packed, filter)) return std::nullopt;
  auto listing = plan::unpack(packed);
  if (!listing) return std::nullopt;
  return std::move(*listing);
}

}  // namespace stage_model
