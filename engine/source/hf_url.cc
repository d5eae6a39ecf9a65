#include "engine/source/hf_url.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/auth/bearer.h"
#include "engine/auth/secret_file.h"
#include "engine/http/url.h"
#include "engine/source/plain_http.h"
#include "engine/source/show.h"

namespace stage_model::source {
namespace {

constexpr char kForm[] = "hf://ORG/NAME[@REVISION][/PATH]";

std::string take_segment(std::string_view& rest) {
  std::string segment(rest.substr(0, rest.find('/')));
  rest.remove_prefix(std::min(rest.size(), segment.size() + 1));
  return segment;
}

bool valid_name(std::string_view name) {
  return !name.empty() && name.size() <= 96 && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.';
         });
}

// The revision, with the parts of "refs/pr/N" and "refs/convert/X" that the slashes cut off.
Result<std::string> take_revision(std::string text, std::string_view& rest) {
  if (text == "refs" && (rest.starts_with("pr/") || rest.starts_with("convert/"))) {
    text += "/" + take_segment(rest);
    text += "/" + take_segment(rest);
  }
  Result<std::string> revision = http::decode(text);
  if (!revision) return revision;
  const bool fine =
      !revision->empty() && std::all_of(revision->begin(), revision->end(), [](char c) {
        return static_cast<unsigned char>(c) > 0x20 && c != 0x7f;
      });
  if (!fine) return fail(ExitCode::kUsage, fmt::format("no revision after '@': {}", kForm));
  return revision;
}

Status take_hub(const Variables& variables, HfUrl& url) {
  std::string endpoint = variable(variables, "HF_ENDPOINT");
  if (endpoint.empty()) endpoint = "https://huggingface.co";
  Result<http::Url> parts = http::parse_url(endpoint);
  if (!parts) return fail(ExitCode::kUsage, "HF_ENDPOINT: " + parts.error().message);
  url.origin = parts->origin();
  url.base = parts->path;
  while (url.base.ends_with('/')) url.base.pop_back();
  return {};
}

Result<std::string> checked_token(std::string token, const std::string& what) {
  std::erase_if(token, [](char c) { return c == '\n' || c == '\r' || c == ' ' || c == '\t'; });
  const bool plain = std::all_of(token.begin(), token.end(), [](char c) {
    return static_cast<unsigned char>(c) > 0x20 && static_cast<unsigned char>(c) < 0x7f;
  });
  if (!plain) return fail(ExitCode::kSource, what + " holds bytes that no token has");
  return token;
}

}  // namespace

Result<HfUrl> parse_hf_url(std::string_view text, const Variables& variables) {
  text.remove_prefix(5);
  HfUrl url;
  for (const char* kind : {"models", "datasets", "spaces"}) {
    if (!text.starts_with(std::string(kind) + "/")) continue;
    url.kind = kind;
    take_segment(text);
    break;
  }
  const std::string organisation = take_segment(text);
  std::string name = take_segment(text);
  url.revision = "main";
  if (const auto at = name.find('@'); at != std::string::npos) {
    Result<std::string> revision = take_revision(name.substr(at + 1), text);
    if (!revision) return tl::unexpected(revision.error());
    url.revision = std::move(*revision);
    name.resize(at);
  }
  if (!valid_name(organisation) || !valid_name(name)) {
    return fail(ExitCode::kUsage, fmt::format("'{}/{}' is not the name of a repository: {}",
                                              show(organisation), show(name), kForm));
  }
  url.repository = organisation + "/" + name;
  url.path = std::string(text);
  if (Status status = take_hub(variables, url); !status) return tl::unexpected(status.error());
  return url;
}

Result<auth::IdentityPtr> choose_hf_identity(const Variables& variables) {
  std::vector<std::string> before;
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
    Result<std::string> token = checked_token(variable(variables, name), name);
    if (!token) return tl::unexpected(token.error());
    if (!token->empty()) return auth::bearer(std::move(*token), name, before);
    before.push_back(std::string("token: ") + name + " is not set");
  }
  std::string path = variable(variables, "HF_TOKEN_PATH");
  const bool named = !path.empty();
  if (!named) {
    const std::string own = variable(variables, "HF_HOME");
    const std::string cache = variable(variables, "XDG_CACHE_HOME");
    const std::string home = auth::home_directory(variables);
    if (!own.empty()) {
      path = own + "/token";
    } else if (!cache.empty()) {
      path = cache + "/huggingface/token";
    } else if (!home.empty()) {
      path = home + "/.cache/huggingface/token";
    }
  }
  if (path.empty()) return auth::bearer("", "", before);
  Result<std::string> text = auth::read_secret_file(path);
  if (!text) {
    if (!named && text.error().code == ExitCode::kUsage) {
      before.push_back("token: there is no file " + show(path));
      return auth::bearer("", "", before);
    }
    return fail(ExitCode::kSource, text.error().message);
  }
  Result<std::string> token = checked_token(std::move(*text), path);
  if (!token) return tl::unexpected(token.error());
  return auth::bearer(std::move(*token), path, before);
}

}  // namespace stage_model::source
