#include "engine/auth/bearer.h"

#include <utility>

#include "engine/base/mutex.h"

namespace stage_model::auth {
namespace {

class Bearer final : public Identity {
 public:
  Bearer(std::string token, std::string what, std::vector<std::string> passed_over)
      : passed_over_(std::move(passed_over)), token_(std::move(token)), what_(std::move(what)) {}

  Status sign(http::Request& request) const override {
    const MutexLock lock(mutex_);
    if (!token_.empty()) request.headers.emplace_back("Authorization", "Bearer " + token_);
    return {};
  }

  Status check(std::time_t) const override { return {}; }

  std::string describe() const override {
    const MutexLock lock(mutex_);
    return token_.empty() ? "anonymous" : "token (" + what_ + ")";
  }

  std::vector<std::string> passed_over() const override { return passed_over_; }

  std::string handover() const override {
    const MutexLock lock(mutex_);
    return token_.empty() ? "" : what_ + "\n" + token_;
  }

  Status accept(const std::string& handover) const override {
    const MutexLock lock(mutex_);
    const std::size_t end = handover.find('\n');
    if (end == std::string::npos) return {};
    what_ = handover.substr(0, end);
    token_ = handover.substr(end + 1);
    return {};
  }

 private:
  const std::vector<std::string> passed_over_;
  mutable Mutex mutex_;
  mutable std::string token_ STAGE_GUARDED_BY(mutex_);
  mutable std::string what_ STAGE_GUARDED_BY(mutex_);
};

}  // namespace

IdentityPtr bearer(std::string token, std::string what, std::vector<std::string> passed_over) {
  return std::make_shared<Bearer>(std::move(token), std::move(what), std::move(passed_over));
}

}  // namespace stage_model::auth
