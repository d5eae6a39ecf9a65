// Where the redirects of each URL led, so that not every range asks again: hubs count requests. One
// request finds it out, the others with the same URL wait for it. Not thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/http/redirect.h"
#include "stage_model/result.h"

namespace stage_model::http {

// One request's way.
struct Route {
  Location home;                       // what was asked for
  std::optional<Location> redirected;  // where redirects led; nothing: home
  std::vector<Location> passed;        // on the way there
  unsigned lost = 0;                   // places that refused us, one after another
  bool finding = false;                // others wait for what it finds

  const Location& now() const { return redirected ? *redirected : home; }
  // Only there our proof may be shown.
  bool at_home() const { return !redirected || redirected->origin == home.origin; }
  // A good answer would be news to the cache.
  bool unsettled() const { return finding || lost > 0; }
};

class RedirectCache {
 public:
  // `wanted`: this store's answers may send us elsewhere. Else nothing here does anything.
  explicit RedirectCache(bool wanted) : wanted_(wanted) {}

  // Another request is finding out where this one has to go.
  bool being_found(const Route& route) const;
  // Before an attempt; not while being_found(). `now`: seconds.
  void send(Route& route, double now);
  // The attempt is answered as it should be.
  void found(Route& route, double now);
  // Nobody needs to wait for it any more.
  void leave(Route& route);

  // The answer is a redirect to `location`. Errors: kSource: it is not followed, and why.
  Status redirect(Route& route, std::string_view location);
  // The place refuses. True: start from home once more; false: that has not helped before.
  bool lost(Route& route);

 private:
  struct Known {
    std::optional<Location> redirected;
    double until = 0;
    bool being_found = false;
  };
  bool wanted_;
  std::unordered_map<std::string, Known> known_;  // by home's URL
};

}  // namespace stage_model::http
