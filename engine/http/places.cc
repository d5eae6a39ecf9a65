#include "engine/http/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace stage_model::http {
namespace {

constexpr std::size_t kMaxHops = 5;  // redirects in a row
constexpr unsigned kMaxLost = 3;     // signed URLs that refuse at once: not because they expired
constexpr double kLife = 900;        // seconds that a place is remembered; signed URLs live longer

}  // namespace

bool Places::being_found(const Route& route) const {
  if (!wanted_ || route.place || route.finding) return false;
  const auto known = known_.find(route.home.url());
  return known != known_.end() && known->second.being_found;
}

void Places::send(Route& route, double now) {
  if (!wanted_ || route.place || route.finding) return;
  Known& known = known_[route.home.url()];
  if (known.until > now) {
    route.place = known.place;
  } else {
    known.being_found = route.finding = true;
  }
}

void Places::found(Route& route, double now) {
  route.lost = 0;
  if (!route.finding) return;
  Known& known = known_[route.home.url()];
  known.place = route.place;
  known.until = now + kLife;
  leave(route);
}

void Places::leave(Route& route) {
  if (!route.finding) return;
  route.finding = false;
  known_[route.home.url()].being_found = false;
}

Status Places::redirect(Route& route, std::string_view location) {
  if (route.passed.size() == kMaxHops) {
    return fail(ExitCode::kSource, fmt::format("redirects more than {} times", kMaxHops));
  }
  route.passed.push_back(route.now());
  Result<Place> to = follow(route.now(), location);
  if (!to) return tl::unexpected(to.error());
  if (std::find(route.passed.begin(), route.passed.end(), *to) != route.passed.end()) {
    return fail(ExitCode::kSource, "redirects in a loop");
  }
  route.place = std::move(*to);
  return {};
}

bool Places::lost(Route& route) {
  Known& known = known_[route.home.url()];
  if (known.place == route.place) known.until = 0;
  leave(route);
  if (++route.lost > kMaxLost) return false;
  route.place.reset();
  route.passed.clear();
  return true;
}

}  // namespace stage_model::http
