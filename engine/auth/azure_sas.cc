#include "engine/auth/azure_sas.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engine/base/text.h"
#include "engine/contract/azure_secret.h"
#include "engine/contract/iso_time.h"

namespace stage_model::auth {
namespace {

std::string value_of(const http::Query& query, std::string_view name) {
  for (const auto& [key, value] : query) {
    if (key == name) return value;
  }
  return {};
}

class AzureSas final : public Identity {
 public:
  explicit AzureSas(Sas sas) : sas_(std::move(sas)) {}

  Status sign(http::Request& request) const override {
    request.query.insert(request.query.end(), sas_.query.begin(), sas_.query.end());
    return {};
  }

  Status check(std::time_t now) const override { return check_sas(sas_, now); }
  bool for_one_object() const override { return sas_.one_blob; }

  std::string describe() const override {
    return sas_.expires ? "SAS (expires " + format_iso_time(*sas_.expires) + ")" : "SAS";
  }

 private:
  Sas sas_;
};

}  // namespace

bool is_sas_parameter(std::string_view name) {
  static constexpr std::array<std::string_view, 29> kNames = {
      "sv",  "ss",    "srt",   "sp",   "st",   "se",   "sr",   "si",     "sip",    "spr",
      "sig", "skoid", "sktid", "skt",  "ske",  "sks",  "skv",  "saoid",  "suoid",  "scid",
      "sdd", "ses",   "rscc",  "rscd", "rsce", "rscl", "rsct", "sduoid", "skdutid"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

Result<Sas> parse_sas(std::string_view text) {
  text = pasted(text);
  if (text.substr(0, text.find('?')).find("://") != std::string_view::npos) {
    return fail(ExitCode::kSource,
                "the SAS is a whole URL: only what is behind its '?' is the SAS");
  }
  Result<http::Query> query = http::parse_query(text);
  if (!query) return fail(ExitCode::kSource, "the SAS is not a query string: copy the token again");
  Sas sas;
  for (auto& item : *query) {
    if (is_sas_parameter(item.first)) sas.query.push_back(std::move(item));
  }
  if (value_of(sas.query, "sig").empty()) {
    return fail(ExitCode::kSource, "the SAS has no 'sig=': copy the whole token");
  }
  const Result<SasTimes> times = sas_times(text);
  if (!times) return tl::unexpected(times.error());
  sas.starts = times->starts;
  sas.expires = times->expires;
  sas.permissions = value_of(sas.query, "sp");
  const std::string resource = value_of(sas.query, "sr");
  sas.one_blob = resource == "b" || resource == "bs" || resource == "bv";
  return sas;
}

Status check_sas(const Sas& sas, std::time_t now) {
  if (sas.expires && *sas.expires <= now) {
    return fail(ExitCode::kSource,
                fmt::format("the SAS expired at {} (now {}): make a new one",
                            format_iso_time(*sas.expires), format_iso_time(now)));
  }
  if (sas.starts && *sas.starts > now) {
    return fail(ExitCode::kSource,
                fmt::format("the SAS is not valid before {} (now {}): wait, make a new one, or "
                            "check this node's clock",
                            format_iso_time(*sas.starts), format_iso_time(now)));
  }
  const auto lacks = [&sas](char right) {
    return !sas.permissions.empty() && sas.permissions.find(right) == std::string::npos;
  };
  if (sas.one_blob && lacks('r')) {
    return fail(ExitCode::kSource,
                fmt::format("the SAS has the permissions sp={}, staging needs read: make one with "
                            "sp=r",
                            sas.permissions));
  }
  if (!sas.one_blob && (lacks('r') || lacks('l'))) {
    return fail(ExitCode::kSource,
                fmt::format("the SAS has the permissions sp={}, staging needs read and list: make "
                            "one with sp=rl",
                            sas.permissions));
  }
  const std::string services = value_of(sas.query, "ss");
  if (!services.empty() && services.find('b') == std::string::npos) {
    return fail(ExitCode::kSource,
                fmt::format("the SAS is for the services ss={}, not for blobs: make one with ss=b",
                            services));
  }
  const std::string types = value_of(sas.query, "srt");
  if (!types.empty() &&
      (types.find('c') == std::string::npos || types.find('o') == std::string::npos)) {
    return fail(ExitCode::kSource,
                fmt::format("the SAS is for the resource types srt={}, staging needs containers "
                            "and objects: make one with srt=co",
                            types));
  }
  return {};
}

IdentityPtr azure_sas(Sas sas) { return std::make_shared<AzureSas>(std::move(sas)); }

}  // namespace stage_model::auth
