#include "engine/auth/azure_key_or_token.h"

#include <fmt/format.h>

#include <utility>

#include "engine/base/mutex.h"

namespace stage_model::auth {
namespace {

// In place of a token that cannot be had: ready at once, with no proof and the reason.
class NoToken final : public Identity {
 public:
  explicit NoToken(Error why) : why_(std::move(why)) {}

  Status sign(http::Request&) const override { return tl::unexpected(why_); }
  Status check(std::time_t) const override { return {}; }
  std::string describe() const override { return "no token"; }

 private:
  const Error why_;
};

class KeyOrToken final : public Identity {
 public:
  KeyOrToken(IdentityPtr key, IdentityPtr token) : key_(std::move(key)), token_(std::move(token)) {}

  Status sign(http::Request& request) const override { return current()->sign(request); }
  Status check(std::time_t now) const override { return current()->check(now); }
  Status prepare() const override { return current()->prepare(); }

  bool by_key() const override {
    const MutexLock lock(mutex_);
    return state_ != State::kToken;
  }

  bool ready() const override {
    const MutexLock lock(mutex_);
    if (state_ == State::kKey || state_ == State::kNoToken) return true;
    const bool ready = token_->ready();
    if (state_ == State::kToken || !ready) return ready;
    if (token_->generation() > 0) {
      state_ = State::kToken;
      return true;
    }
    state_ = State::kNoToken;
    http::Request nothing;
    if (Status status = token_->sign(nothing); !status) why_ = status.error().message;
    return true;
  }

  // 0 is the key.
  unsigned generation() const override {
    const MutexLock lock(mutex_);
    return state_ == State::kToken ? token_->generation() : 0;
  }

  bool renew(unsigned generation) const override {
    const MutexLock lock(mutex_);
    switch (state_) {
      case State::kKey:
        state_ = State::kAsking;
        token_->ready();  // begins to ask
        return true;
      case State::kAsking:
        return true;
      case State::kToken:
        return generation == 0 || token_->renew(generation);
      case State::kNoToken:
        break;
    }
    return false;
  }

  std::string handover() const override {
    const MutexLock lock(mutex_);
    return state_ == State::kToken ? token_->handover() : "";
  }

  Status accept(const std::string& handover) const override {
    if (handover.empty()) return {};
    const MutexLock lock(mutex_);
    state_ = State::kToken;
    return token_->accept(handover);
  }

  std::string describe() const override {
    const MutexLock lock(mutex_);
    if (state_ == State::kToken) return token_->describe();
    if (state_ != State::kNoToken) return key_->describe();
    return fmt::format("{} (and no token: {})", key_->describe(), why_);
  }

  std::vector<std::string> passed_over() const override {
    const MutexLock lock(mutex_);
    if (state_ != State::kToken) return {};
    std::vector<std::string> out = {
        fmt::format("{}: the account does not accept keys (KeyBasedAuthenticationNotPermitted)",
                    key_->describe())};
    for (std::string& why : token_->passed_over()) out.push_back(std::move(why));
    return out;
  }

 private:
  enum class State { kKey, kAsking, kToken, kNoToken };

  IdentityPtr current() const {
    const MutexLock lock(mutex_);
    return state_ == State::kToken ? token_ : key_;
  }

  const IdentityPtr key_, token_;
  mutable Mutex mutex_;
  mutable State state_ STAGE_GUARDED_BY(mutex_) = State::kKey;
  mutable std::string why_ STAGE_GUARDED_BY(mutex_);  // there is no token
};

}  // namespace

IdentityPtr azure_key_or_token(IdentityPtr key, Result<IdentityPtr> token) {
  if (!token) token = std::make_shared<NoToken>(token.error());
  return std::make_shared<KeyOrToken>(std::move(key), std::move(*token));
}

}  // namespace stage_model::auth
