#include "spank/model_url.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "engine/base/text.h"

namespace stage_model::spank {
namespace {

constexpr std::size_t kMaxUrl = 4096;
constexpr std::array<std::string_view, 8> kKnown = {"az", "https", "http", "manifest+https",
                                                    "s3", "gs",    "hf",   "file"};
// Query parameters that are as good as a password: of these names, or with one of these in them.
constexpr std::array<std::string_view, 4> kSecretKeys = {"sig", "key", "auth", "awsaccesskeyid"};
constexpr std::array<std::string_view, 7> kSecretParts = {
    "signature", "token", "secret", "password", "passwd", "apikey", "api_key"};

std::string_view after_scheme(std::string_view url) {
  const std::size_t at = url.find("://");
  return at == std::string_view::npos ? std::string_view() : url.substr(at + 3);
}

std::string_view authority(std::string_view url) {
  const std::string_view rest = after_scheme(url);
  return rest.substr(0, rest.find_first_of("/?#"));
}

std::string_view path(std::string_view url) {
  std::string_view rest = after_scheme(url);
  rest = rest.substr(0, rest.find_first_of("?#"));
  const std::size_t slash = rest.find('/');
  return slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
}

std::string lower_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%' && i + 2 < text.size() && std::isxdigit(static_cast<unsigned char>(text[i + 1])) &&
        std::isxdigit(static_cast<unsigned char>(text[i + 2]))) {
      c = static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    }
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

bool is_secret(const std::string& key) {
  return std::find(kSecretKeys.begin(), kSecretKeys.end(), key) != kSecretKeys.end() ||
         std::any_of(kSecretParts.begin(), kSecretParts.end(),
                     [&key](std::string_view part) { return key.find(part) != std::string::npos; });
}

bool has_secret(std::string_view url) {
  // Without a colon too: there tokens stand in place of the user.
  if (authority(url).find('@') != std::string_view::npos) return true;
  // Past '#' too, and where the '?' itself is encoded: a pasted URL may have its query anywhere.
  std::size_t begin = url.find_first_of("?#&");
  while (begin != std::string_view::npos) {
    const std::string_view rest = url.substr(begin + 1);
    const std::size_t end = rest.find_first_of("&;?#");
    const std::string_view item = rest.substr(0, end);
    const std::string key = lower_decoded(item.substr(0, item.find('=')));
    if (item.find('=') != std::string_view::npos && is_secret(key)) return true;
    begin = end == std::string_view::npos ? end : begin + 1 + end;
  }
  return false;
}

std::string way_that_works(const std::string& scheme) {
  if (scheme == "az") return "export AZURE_STORAGE_SAS_TOKEN='sv=...' (or AZURE_STORAGE_KEY)";
  if (scheme == "s3") return "export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
  if (scheme == "hf") return "export HF_TOKEN";
  if (scheme == "gs") return "export GOOGLE_APPLICATION_CREDENTIALS";
  return "export AZURE_STORAGE_SAS_TOKEN (Azure), or write s3://BUCKET/PREFIX/ and export "
         "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (S3),";
}

bool all_of(std::string_view text, std::string_view extra) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           extra.find(c) != std::string_view::npos;
  });
}

Status wrong(std::string_view url, const std::string& why) {
  return fail(ExitCode::kUsage, quote(url_for_message(url)) + " " + why);
}

Status check_azure(std::string_view url) {
  const std::string_view account = authority(url);
  const std::string_view rest = path(url);
  const std::string_view container = rest.substr(0, rest.find('/'));
  const std::string form = "; the form is az://ACCOUNT/CONTAINER/PREFIX/";
  if (account.empty()) return wrong(url, "names no storage account" + form);
  if (account.size() < 3 || account.size() > 24 || !all_of(account, "")) {
    return wrong(url, "names the account " + quote(account) +
                          ", which is not 3 to 24 lower-case letters and digits" + form);
  }
  if (container.empty()) return wrong(url, "names no container" + form);
  if (container != "$root" && container != "$web" && container != "$logs" &&
      (container.size() < 3 || container.size() > 63 || !all_of(container, "-"))) {
    return wrong(url, "names the container " + quote(container) +
                          ", which is not 3 to 63 lower-case letters, digits and hyphens" + form);
  }
  return {};
}

}  // namespace

std::string url_scheme(std::string_view url) {
  const std::size_t at = url.find("://");
  return at == std::string_view::npos ? std::string() : std::string(url.substr(0, at));
}

std::string url_for_message(std::string_view url) {
  std::string out(url.substr(0, url.find_first_of("?#&")));
  const std::string_view user = authority(out);  // nothing, where a '?' stands before "://"
  if (const std::size_t at = user.rfind('@'); at != std::string_view::npos) {
    const std::size_t begin = url_scheme(url).size() + 3;
    out.erase(begin, at + 1);
  }
  return out;
}

Status check_url(std::string_view url, const std::vector<std::string>& allowed) {
  if (url.empty()) return fail(ExitCode::kUsage, "the URL is empty; write az://ACCOUNT/CONTAINER/");
  const std::string scheme = url_scheme(url);
  // First of all, so that no message below can show a signature.
  if (has_secret(url)) {
    return wrong(url,
                 "carries a secret, which Slurm would show in process lists, accounting and "
                 "job scripts: leave it out of the URL and " +
                     way_that_works(scheme) + " before submitting");
  }
  if (url.size() > kMaxUrl) return wrong(url.substr(0, 60), "is longer than 4096 bytes");
  if (has_control(url) || !valid_utf8(url)) return wrong(url, "contains unprintable characters");
  // The other schemes take names as they stand, where %20 would be three characters.
  const bool web = scheme == "https" || scheme == "http" || scheme == "manifest+https";
  if (web && url.find(' ') != std::string_view::npos) {
    return wrong(url, "contains a space: write %20");
  }
  if (scheme.empty()) {
    return wrong(url, "is not a URL; write it like az://ACCOUNT/CONTAINER/PREFIX/");
  }
  const std::string allowed_as = scheme == "manifest+https" ? "https" : scheme;  // a list of files
  if (std::find(kKnown.begin(), kKnown.end(), scheme) == kKnown.end() ||
      std::find(allowed.begin(), allowed.end(), allowed_as) == allowed.end()) {
    std::string names;
    for (const std::string& name : allowed) names += (names.empty() ? "" : ", ") + name;
    return wrong(url, "has the scheme " + quote(scheme, 20) + "; this site allows " + names);
  }
  if (scheme == "az") return check_azure(url);
  if (scheme == "file") {
    if (!authority(url).empty() || path(url).empty()) {
      return wrong(url, "is not of the form file:///DIRECTORY");
    }
  } else if (authority(url).empty()) {
    return wrong(url, "names no host or bucket");
  } else if (scheme == "hf" && path(url).empty()) {
    return wrong(url, "is not of the form hf://OWNER/NAME");
  }
  return {};
}

std::string url_last_part(std::string_view url) {
  std::string_view rest = after_scheme(url);
  rest = rest.substr(0, rest.find_first_of("?#"));
  while (!rest.empty() && rest.back() == '/') rest.remove_suffix(1);
  const std::size_t slash = rest.rfind('/');
  if (slash != std::string_view::npos) rest.remove_prefix(slash + 1);
  std::string out;
  for (const char c : rest.substr(0, 64)) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
    out += plain ? c : '_';
  }
  if (out.empty()) return "model";
  if (out[0] == '.' || out[0] == '-') out[0] = '_';
  return out;
}

}  // namespace stage_model::spank
