// A proof that is fetched and runs out (temporary keys, a token): kept, and fetched again on a
// thread of its own before that. The part of auth/identity.h that is the same for all of them.
#pragma once

#include <ctime>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "stage_model/result.h"

namespace stage_model::auth {

struct Proof {
  std::string secret;       // "": to sign nothing is right
  std::time_t expires = 0;  // 0: never
};

// Thread-safe.
class ProofKeeper {
 public:
  // `fetch` blocks for a bounded time. Fetched again `margin_s` before the expiry, or in the last
  // quarter of a life that is shorter.
  ProofKeeper(std::function<Result<Proof>()> fetch, double margin_s);
  ~ProofKeeper();  // waits for a fetch that is under way
  ProofKeeper(const ProofKeeper&) = delete;
  ProofKeeper& operator=(const ProofKeeper&) = delete;

  Status prepare();
  bool ready();
  unsigned generation() const;
  bool renew(unsigned generation);

  // To sign with. Errors: kSource if it has run out and no other was to be had.
  Result<std::string> secret() const;

  std::string handover() const;  // "" before prepare()
  Status accept(const std::string& handover);

 private:
  void keep(Result<Proof> proof);  // mutex_ held
  void fetch_aside();              // mutex_ held
  bool fresh(std::time_t now) const;
  bool dead(std::time_t now) const;
  std::time_t pause() const;

  const std::function<Result<Proof>()> fetch_;
  const double margin_s_;
  mutable std::mutex mutex_;
  // The rest is under mutex_.
  std::optional<Proof> proof_;
  std::optional<Error> error_;  // of the last fetch
  double early_s_ = 0;          // before the expiry: time for another
  std::time_t next_fetch_ = 0;  // not before
  unsigned generation_ = 0;
  bool fetching_ = false;
  bool refused_ = false;  // the store does not accept proof_
  std::thread thread_;
};

}  // namespace stage_model::auth
