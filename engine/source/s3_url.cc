#include "engine/source/s3_url.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/variables.h"
#include "engine/http/url.h"
#include "engine/source/show.h"

namespace stage_model::source {
namespace {

constexpr std::string_view kPrefix = "s3://";

bool lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool is_bucket(std::string_view name) {
  return name.size() >= 3 && name.size() <= 255 && name.front() != '.' && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return lower_or_digit(c) || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.';
         });
}

bool fits_host(std::string_view bucket) {
  return bucket.size() <= 63 && bucket.back() != '-' &&
         std::all_of(bucket.begin(), bucket.end(),
                     [](char c) { return lower_or_digit(c) || c == '-'; });
}

}  // namespace

bool is_region(std::string_view text) {
  return !text.empty() && text.size() <= 32 && std::all_of(text.begin(), text.end(), [](char c) {
    return lower_or_digit(c) || c == '-';
  });
}

Result<S3Url> parse_s3_url(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) {
    return fail(ExitCode::kUsage, "a NUL byte in the URL");
  }
  text.remove_prefix(kPrefix.size());
  S3Url url;
  url.bucket = std::string(text.substr(0, text.find('/')));
  url.path = std::string(text.substr(std::min(text.size(), url.bucket.size() + 1)));
  if (url.bucket.empty()) {
    return fail(ExitCode::kUsage, "no bucket in the URL: s3://BUCKET/PREFIX/");
  }
  if (!is_bucket(url.bucket)) {
    return fail(ExitCode::kUsage,
                fmt::format("'{}' is not the name of a bucket (3 to 63 letters, digits, dots and "
                            "dashes): s3://BUCKET/PREFIX/",
                            show(url.bucket)));
  }
  if (url.bucket.ends_with("--x-s3")) {
    return fail(ExitCode::kUsage,
                fmt::format("'{}' is a directory bucket (S3 Express One Zone), which is not "
                            "supported: stage from a general purpose bucket",
                            url.bucket));
  }
  return url;
}

Result<S3Service> find_s3_service(const Variables& variables, const auth::AwsProfile& profile) {
  S3Service service;
  service.fips = variable(variables, "AWS_USE_FIPS_ENDPOINT") == "true";
  service.dualstack = variable(variables, "AWS_USE_DUALSTACK_ENDPOINT") == "true";
  if (variable(variables, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS") == "true") return service;
  std::string name = "AWS_ENDPOINT_URL_S3";
  std::string text = variable(variables, name.c_str());
  if (text.empty()) {
    name = "AWS_ENDPOINT_URL";
    text = variable(variables, name.c_str());
  }
  if (text.empty()) {
    name = "endpoint_url of the profile";
    text = profile.setting("s3.endpoint_url");
    if (text.empty()) text = profile.setting("endpoint_url");
  }
  if (text.empty()) return service;
  Result<http::Url> url = http::parse_url(text);
  if (!url) return fail(ExitCode::kSource, name + ": " + url.error().message);
  if (!url->query.empty()) return fail(ExitCode::kSource, name + ": a query makes no sense here");
  service.in_host = profile.setting("s3.addressing_style") == "virtual";
  service.endpoint = url->origin() + url->path;
  while (service.endpoint.ends_with('/')) service.endpoint.pop_back();
  return service;
}

S3Place s3_place(const S3Service& service, const std::string& bucket, const std::string& region) {
  if (!service.endpoint.empty()) {
    const std::size_t host = service.endpoint.find("://") + 3;
    const std::size_t path = std::min(service.endpoint.find('/', host), service.endpoint.size());
    if (service.in_host && fits_host(bucket)) {
      return {service.endpoint.substr(0, host) + bucket + "." +
                  service.endpoint.substr(host, path - host),
              service.endpoint.substr(path)};
    }
    return {service.endpoint.substr(0, path), service.endpoint.substr(path) + "/" + bucket};
  }
  const std::string host = fmt::format("s3{}{}.{}.amazonaws.com{}", service.fips ? "-fips" : "",
                                       service.dualstack ? ".dualstack" : "", region,
                                       region.starts_with("cn-") ? ".cn" : "");
  if (fits_host(bucket)) return {"https://" + bucket + "." + host, ""};
  return {"https://" + host, "/" + bucket};
}

}  // namespace stage_model::source
