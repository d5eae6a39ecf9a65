#include "engine/auth/azure_login.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engine/base/variables.h"

namespace stage_model::auth {
namespace {

// Storage gives tokens an hour or a day; a long GET needs no token after its first byte.
constexpr double kMargin = 300;

class AzureLogin final : public CachedIdentity {
 public:
  // `anonymous`: if no way leads to a token.
  // `unusual`: what deserves a word in messages, `before`: all that was passed over.
  AzureLogin(std::vector<AzureTokenWay> ways, std::vector<std::string> unusual,
             std::vector<std::string> before, bool anonymous)
      : ways_(std::move(ways)),
        unusual_(std::move(unusual)),
        anonymous_(anonymous),
        passed_over_(std::move(before)),
        cache_([this] { return fetch(); }, kMargin) {}

  // With the way's name in front: who took it over renews it by the same one.
  std::string handover() const override {
    const std::string proof = cache_.handover();
    const MutexLock lock(mutex_);
    return proof.empty() ? "" : chosen_ + "\n" + proof;
  }

  Status accept(const std::string& handover) const override {
    const std::size_t end = handover.find('\n');
    if (end == std::string::npos) return {};
    {
      const MutexLock lock(mutex_);
      chosen_ = handover.substr(0, end);
    }
    return cache_.accept(handover.substr(end + 1));
  }

  std::string describe() const override {
    const MutexLock lock(mutex_);
    if (!chosen_.empty() && chosen_ != kAnonymous) return chosen_;
    std::string out;
    for (const std::string& why : unusual_) out += (out.empty() ? "" : "; ") + why;
    return out.empty() ? kAnonymous : fmt::format("{} ({})", kAnonymous, out);
  }

  std::vector<std::string> passed_over() const override {
    const MutexLock lock(mutex_);
    return passed_over_;
  }

 private:
  CredentialCache& cache() const override { return cache_; }

  static constexpr char kAnonymous[] = "anonymous";

  // The first time it chooses; later only the chosen way counts.
  Result<Credential> fetch() const {
    std::string chosen;
    {
      const MutexLock lock(mutex_);
      chosen = chosen_;
    }
    std::vector<std::string> reasons;
    for (const AzureTokenWay& way : ways_) {
      if (!chosen.empty() && way.name != chosen) continue;
      std::string why;
      Result<std::optional<Credential>> proof = way.fetch(why);
      if (!proof) return fail(proof.error().code, way.name + ": " + proof.error().message);
      if (*proof) {
        choose(way.name, std::move(reasons));
        return std::move(**proof);
      }
      reasons.push_back(way.name + ": " + why);
    }
    if (!anonymous_ || !chosen.empty()) {
      std::string all;
      for (const std::string& why : reasons) all += (all.empty() ? "" : "; ") + why;
      if (ways_.empty() && chosen.empty()) all = "nothing here gives out tokens";
      return fail(ExitCode::kSource, all.empty() ? "this node lacks the identity '" + chosen +
                                                       "' and cannot renew its token"
                                                 : all);
    }
    choose(kAnonymous, std::move(reasons));
    return Credential{};
  }

  void choose(const std::string& name, std::vector<std::string> reasons) const {
    const MutexLock lock(mutex_);
    if (!chosen_.empty()) return;
    chosen_ = name;
    std::move(reasons.begin(), reasons.end(), std::back_inserter(passed_over_));
  }

  const std::vector<AzureTokenWay> ways_;
  const std::vector<std::string> unusual_;
  const bool anonymous_;
  mutable Mutex mutex_;
  mutable std::string chosen_ STAGE_GUARDED_BY(mutex_);  // "" until prepare()
  mutable std::vector<std::string> passed_over_ STAGE_GUARDED_BY(mutex_);
  mutable CredentialCache cache_;  // last: its thread uses the rest
};

}  // namespace

Result<IdentityPtr> azure_login(const Variables& given, const AzureSurroundings& surroundings,
                                std::vector<std::string> before, bool or_anonymous) {
  Variables variables = given;
  std::vector<std::string> unusual = before;
  std::string only = variable(variables, "AZCOPY_AUTO_LOGIN_TYPE");  // in any case, as for azcopy
  std::transform(only.begin(), only.end(), only.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  static constexpr std::array<std::string_view, 5> kKnown = {"", "SPN", "WORKLOAD", "MSI", "AZCLI"};
  if (std::find(kKnown.begin(), kKnown.end(), only) == kKnown.end()) {
    return fail(ExitCode::kSource,
                "AZCOPY_AUTO_LOGIN_TYPE is none of SPN, WORKLOAD, MSI, AZCLI: the others need a "
                "person at a browser");
  }
  // Names that azcopy's users have set already.
  for (const auto& [ours, theirs] :
       {std::pair{"AZURE_CLIENT_ID", "AZCOPY_SPA_APPLICATION_ID"},
        std::pair{"AZURE_CLIENT_SECRET", "AZCOPY_SPA_CLIENT_SECRET"},
        std::pair{"AZURE_CLIENT_CERTIFICATE_PATH", "AZCOPY_SPA_CERT_PATH"},
        std::pair{"AZURE_TENANT_ID", "AZCOPY_TENANT_ID"}}) {
    if (only == "SPN" && variable(variables, ours).empty()) {
      variables[ours] = variable(variables, theirs);
    }
  }
  std::vector<AzureTokenWay> ways;
  const auto wanted = [&only](const char* kind) { return only.empty() || only == kind; };
  if (wanted("SPN")) {
    auto way = azure_service_principal(variables, surroundings);
    if (!way) return tl::unexpected(way.error());
    if (*way) {
      ways.push_back(std::move(**way));
    } else {
      before.emplace_back("service principal: AZURE_CLIENT_SECRET is not set");
    }
  }
  if (wanted("WORKLOAD")) {
    auto way = azure_workload_identity(variables, surroundings);
    if (!way) return tl::unexpected(way.error());
    if (*way) {
      ways.push_back(std::move(**way));
    } else {
      before.emplace_back("workload identity: AZURE_FEDERATED_TOKEN_FILE is not set");
    }
  }
  const bool implicit = surroundings.implicit;
  if (only == "MSI" || (only.empty() && (implicit || !variable(variables,
                                                               "AZURE_POD_IDENTITY_"
                                                               "AUTHORITY_HOST")
                                                          .empty()))) {
    ways.push_back(azure_managed_identity(variables, surroundings));
  }
  if (only == "AZCLI" || (only.empty() && implicit)) ways.push_back(azure_cli(variables));
  if (ways.empty() && !only.empty()) {
    return fail(ExitCode::kSource,
                fmt::format("AZCOPY_AUTO_LOGIN_TYPE={}, but {}", only, before.back()));
  }
  return std::make_shared<AzureLogin>(std::move(ways), std::move(unusual), std::move(before),
                                      only.empty() && or_anonymous);
}

}  // namespace stage_model::auth
