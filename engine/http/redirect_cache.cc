#include "engine/http/redirect_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace stage_model::http {
namespace {

constexpr std::size_t kMaxHops = 5;  // redirects in a row
constexpr unsigned kMaxLost = 3;     // signed URLs that refuse at once: not because they expired
constexpr double kLife = 900;        // seconds that a place is remembered; signed URLs live longer

}  // namespace

bool RedirectCache::being_found(const Route& route) const {
  if (!wanted_ || route.redirected || route.finding) return false;
  const auto known = known_.find(route.home.url());
  return known != known_.end() && known->second.being_found;
}

void RedirectCache::send(Route& route, double now) {
  if (!wanted_ || route.redirected || route.finding) return;
  Known& known = known_[route.home.url()];
  if (known.until > now) {
    route.redirected = known.redirected;
  } else {
    known.being_found = route.finding = true;
  }
}

void RedirectCache::found(Route& route, double now) {
  route.lost = 0;
  if (!route.finding) return;
  Known& known = known_[route.home.url()];
  known.redirected = route.redirected;
  known.until = now + kLife;
  leave(route);
}

void RedirectCache::leave(Route& route) {
  if (!route.finding) return;
  route.finding = false;
  known_[route.home.url()].being_found = false;
}

Status RedirectCache::redirect(Route& route, std::string_view location) {
  if (route.passed.size() == kMaxHops) {
    return fail(ExitCode::kSource, fmt::format("redirects more than {} times", kMaxHops));
  }
  route.passed.push_back(route.now());
  Result<Location> to = follow(route.now(), location);
  if (!to) return tl::unexpected(to.error());
  if (std::find(route.passed.begin(), route.passed.end(), *to) != route.passed.end()) {
    return fail(ExitCode::kSource, "redirects in a loop");
  }
  route.redirected = std::move(*to);
  return {};
}

bool RedirectCache::lost(Route& route) {
  Known& known = known_[route.home.url()];
  if (known.redirected == route.redirected) known.until = 0;
  leave(route);
  if (++route.lost > kMaxLost) return false;
  route.redirected.reset();
  route.passed.clear();
  return true;
}

}  // namespace stage_model::http
