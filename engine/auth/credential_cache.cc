#include "engine/auth/credential_cache.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace stage_model::auth {
namespace {

// Seconds after which a service is asked again that had nothing newer, or nothing at all: at most,
// and as a part of the time that is left.
constexpr double kLongestPause = 15;
constexpr double kPausePart = 0.25;

}  // namespace

CredentialCache::CredentialCache(std::function<Result<Credential>()> fetch, double margin_s)
    : fetch_(std::move(fetch)), margin_s_(margin_s) {}

CredentialCache::~CredentialCache() {
  if (thread_.joinable()) thread_.join();
}

bool CredentialCache::fresh(std::time_t now) const {
  return proof_ && (proof_->expires == 0 || std::difftime(proof_->expires, now) > early_s_);
}

bool CredentialCache::dead(std::time_t now) const {
  return refused_ || !proof_ || (proof_->expires != 0 && proof_->expires <= now);
}

std::time_t CredentialCache::pause() const {
  return static_cast<std::time_t>(std::clamp(early_s_ * kPausePart, 1.0, kLongestPause));
}

void CredentialCache::keep(Result<Credential> proof) {
  const std::time_t now = std::time(nullptr);
  if (!proof) {
    next_fetch_ = now + pause();
    error_ = std::move(proof.error());
    return;
  }
  error_.reset();
  refused_ = false;
  ++generation_;
  early_s_ = std::min(margin_s_, std::difftime(proof->expires, now) / 4);
  proof_ = std::move(*proof);
  next_fetch_ = now + pause();
}

Status CredentialCache::prepare() {
  {
    const MutexLock lock(mutex_);
    if (!dead(std::time(nullptr))) return {};
  }
  Result<Credential> proof = fetch_();
  const MutexLock lock(mutex_);
  if (!proof) return tl::unexpected(proof.error());
  keep(std::move(proof));
  return {};
}

void CredentialCache::fetch_aside() {
  if (fetching_) return;
  fetching_ = true;
  if (thread_.joinable()) thread_.join();  // it has ended: fetching_ was false
  thread_ = std::thread([this] {
    Result<Credential> proof = fetch_();
    const MutexLock lock(mutex_);
    keep(std::move(proof));
    fetching_ = false;
  });
}

bool CredentialCache::ready() {
  const MutexLock lock(mutex_);
  const std::time_t now = std::time(nullptr);
  if (fresh(now) && !refused_) return true;
  if (!fetching_ && now >= next_fetch_) fetch_aside();
  // Not in its last second: it is signed and sent after this. Dead and no other to be had: secret()
  // says why.
  return !dead(now + 1) || !fetching_;
}

unsigned CredentialCache::generation() const {
  const MutexLock lock(mutex_);
  return generation_;
}

bool CredentialCache::renew(unsigned generation) {
  const MutexLock lock(mutex_);
  if (generation != generation_) return true;
  if (!proof_ || proof_->expires == 0) return false;  // would be the same again
  refused_ = true;
  fetch_aside();
  return true;
}

Result<std::string> CredentialCache::secret() const {
  const MutexLock lock(mutex_);
  if (!dead(std::time(nullptr))) return proof_->secret;
  if (error_) return tl::unexpected(*error_);
  return fail(ExitCode::kSource, "the identity's proof has run out");
}

std::string CredentialCache::handover() const {
  const MutexLock lock(mutex_);
  return proof_ ? std::to_string(proof_->expires) + "\n" + proof_->secret : "";
}

Status CredentialCache::accept(const std::string& handover) {
  if (handover.empty()) return {};
  Credential proof;
  const std::size_t end = std::min(handover.find('\n'), handover.size());
  const auto [at, error] = std::from_chars(handover.data(), handover.data() + end, proof.expires);
  if (error != std::errc() || at != handover.data() + end || end == handover.size()) {
    return fail(ExitCode::kSource, "rank 0 sent a proof of identity that this version cannot read");
  }
  proof.secret = handover.substr(end + 1);
  const MutexLock lock(mutex_);
  keep(std::move(proof));
  next_fetch_ = 0;
  return {};
}

Status CachedIdentity::sign(http::Request& request) const {
  Result<std::string> token = cache().secret();
  if (!token) return tl::unexpected(token.error());
  if (!token->empty()) request.headers.emplace_back("Authorization", "Bearer " + *token);
  return {};
}

}  // namespace stage_model::auth
