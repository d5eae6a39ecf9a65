#include "engine/contract/model_url.h"

#include <algorithm>
#include <cctype>

#include "engine/base/text.h"
#include "stage_model/stores.h"

namespace stage_model {
namespace {

constexpr std::size_t kMaxUrl = 4096;

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

bool has_secret(std::string_view url) {
  // Without a colon too: there tokens stand in place of the user.
  if (authority(url).find('@') != std::string_view::npos) return true;
  // Past '#' too, and where the '?' itself is encoded: a pasted URL may have its query anywhere.
  std::size_t begin = url.find_first_of("?#&");
  while (begin != std::string_view::npos) {
    const std::string_view rest = url.substr(begin + 1);
    const std::size_t end = rest.find_first_of("&;?#");
    const std::string_view item = rest.substr(0, end);
    const std::string key = unescaped(item.substr(0, item.find('=')));
    if (item.find('=') != std::string_view::npos && is_secret_parameter(key)) return true;
    begin = end == std::string_view::npos ? end : begin + 1 + end;
  }
  return false;
}

Status wrong(std::string_view url, const std::string& why) {
  return fail(ExitCode::kUsage, quote(url_for_message(url)) + " " + why);
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
  const Store* store = find_store(scheme);
  // First of all, so that no message below can show a signature.
  if (has_secret(url)) {
    return wrong(url,
                 "carries a secret, which Slurm would show in process lists, accounting and "
                 "job scripts: leave it out of the URL and " +
                     std::string((store != nullptr ? store : find_store("https"))->safe_way) +
                     " before submitting");
  }
  if (url.size() > kMaxUrl) return wrong(url.substr(0, 60), "is longer than 4096 bytes");
  if (has_control(url) || !valid_utf8(url)) return wrong(url, "contains unprintable characters");
  if (store != nullptr && store->escaped && url.find(' ') != std::string_view::npos) {
    return wrong(url, "contains a space: write %20");
  }
  if (scheme.empty()) {
    return wrong(url, "is not a URL; write it like az://ACCOUNT/CONTAINER/PREFIX/");
  }
  if (store == nullptr ||
      std::find(allowed.begin(), allowed.end(), store->allowed_as) == allowed.end()) {
    std::string names;
    for (const std::string& name : allowed) names += (names.empty() ? "" : ", ") + name;
    return wrong(url, "has the scheme " + quote(scheme, 20) + "; this site allows " + names);
  }
  if (const std::string problem = store->problem(authority(url), path(url)); !problem.empty()) {
    return wrong(url, problem);
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

}  // namespace stage_model
