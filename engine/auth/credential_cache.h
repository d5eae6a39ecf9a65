// A proof that is fetched and runs out (temporary keys, a token): kept, and fetched again on a
// thread of its own before that. The part of auth/identity.h that is the same for all of them.
#pragma once

#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "engine/auth/identity.h"
#include "engine/base/mutex.h"
#include "stage_model/result.h"

namespace stage_model::auth {

struct Credential {
  std::string secret;       // "": to sign nothing is right
  std::time_t expires = 0;  // 0: never
};

// Thread-safe.
class CredentialCache {
 public:
  // `fetch` blocks for a bounded time. Fetched again `margin_s` before the expiry, or in the last
  // quarter of a life that is shorter.
  CredentialCache(std::function<Result<Credential>()> fetch, double margin_s);
  ~CredentialCache();  // waits for a fetch that is under way
  CredentialCache(const CredentialCache&) = delete;
  CredentialCache& operator=(const CredentialCache&) = delete;

  Status prepare();
  bool ready();
  unsigned generation() const;
  bool renew(unsigned generation);

  // To sign with. Errors: kSource if it has run out and no other was to be had.
  Result<std::string> secret() const;

  std::string handover() const;  // "" before prepare()
  Status accept(const std::string& handover);

 private:
  void keep(Result<Credential> proof) STAGE_REQUIRES(mutex_);
  void fetch_aside() STAGE_REQUIRES(mutex_);
  bool fresh(std::time_t now) const STAGE_REQUIRES(mutex_);
  bool dead(std::time_t now) const STAGE_REQUIRES(mutex_);
  std::time_t pause() const STAGE_REQUIRES(mutex_);

  const std::function<Result<Credential>()> fetch_;
  const double margin_s_;
  mutable Mutex mutex_;
  std::optional<Credential> proof_ STAGE_GUARDED_BY(mutex_);
  std::optional<Error> error_ STAGE_GUARDED_BY(mutex_);  // of the last fetch
  double early_s_ STAGE_GUARDED_BY(mutex_) = 0;          // before the expiry: time for another
  std::time_t next_fetch_ STAGE_GUARDED_BY(mutex_) = 0;  // not before
  unsigned generation_ STAGE_GUARDED_BY(mutex_) = 0;
  bool fetching_ STAGE_GUARDED_BY(mutex_) = false;
  bool refused_ STAGE_GUARDED_BY(mutex_) = false;  // the store does not accept proof_
  std::thread thread_ STAGE_GUARDED_BY(mutex_);
};

// An identity with such a credential. sign(): as a bearer token; nothing if it is empty.
class CachedIdentity : public Identity {
 public:
  Status sign(http::Request& request) const override;
  Status check(std::time_t) const override { return {}; }
  Status prepare() const override { return cache().prepare(); }
  std::string handover() const override { return cache().handover(); }
  Status accept(const std::string& handover) const override { return cache().accept(handover); }
  bool ready() const override { return cache().ready(); }
  unsigned generation() const override { return cache().generation(); }
  bool renew(unsigned generation) const override { return cache().renew(generation); }

 protected:
  virtual CredentialCache& cache() const = 0;
};

}  // namespace stage_model::auth
