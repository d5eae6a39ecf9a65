#include "stage_model/request.h"

#include <algorithm>
#include <utility>

#include "engine/base/text.h"
#include "engine/contract/model_url.h"

namespace stage_model {
namespace {

constexpr std::size_t kMaxText = 64 << 10;
constexpr std::size_t kMaxName = 64;
constexpr std::size_t kMaxFilters = 64;
constexpr std::size_t kMaxFilter = 1024;
constexpr std::size_t kMaxDest = 3000;      // leaves room for the model's own names below it
constexpr std::string_view kVersion = "2";  // 1: credentials as variables of their own

Status wrong(const std::string& why) { return fail(ExitCode::kUsage, why); }

bool valid_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && name[0] >= 'A' && name[0] <= 'Z' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
         });
}

// In JobRequest's text ';' and ',' separate, so they are not among these.
std::string encode(std::string_view text) { return percent_encode(text, "/:@*?+!$[](){}^"); }

bool decode(std::string_view text, std::string& out) {
  auto plain = percent_decode(text);
  if (plain) out = std::move(*plain);
  return plain.has_value();
}

}  // namespace

Status add_model(JobRequest& request, std::string_view text, const Site& site) {
  ModelRequest model{"", std::string(text)};
  const std::size_t equals = text.find('=');
  if (equals != std::string_view::npos && equals < text.find_first_of(":/?#")) {
    model.name = text.substr(0, equals);
    model.url = text.substr(equals + 1);
    if (!valid_name(model.name)) {
      return wrong("the name " + quote(model.name, 80) +
                   " is not of the form [A-Z][A-Z0-9_]*, at most 64 characters");
    }
  }
  static const std::vector<std::string> kAll = Config{}.schemes;
  if (Status status = check_url(model.url, site.known ? site.config.schemes : kAll); !status) {
    return status;
  }
  for (const ModelRequest& other : request.models) {
    if (other == model) return {};  // the same flag in the script and on the command line
    if (other.name != model.name) continue;
    return wrong(model.name.empty()
                     ? "there are two models without a name (flags on the command line add to the "
                       "ones in #SBATCH lines): write --stage-model=NAME=URL"
                     : "the name " + quote(model.name) + " stands for two models");
  }
  if (request.models.size() >= site.config.max_models) {
    return wrong("more than " + std::to_string(site.config.max_models) +
                 " models for one job, which is this site's limit");
  }
  request.models.push_back(std::move(model));
  return {};
}

Status set_dest(JobRequest& request, std::string_view text, const Site& site) {
  std::string path(text);
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  if (path.empty()) return wrong("the path is empty");
  if (has_control(path) || !valid_utf8(path)) {
    return wrong(quote(path) + " contains unprintable characters");
  }
  if (path.size() > kMaxDest) return wrong("the path is longer than 3000 bytes");
  if (!normal_absolute_path(path)) {
    return wrong(quote(path) + " is not an absolute path without \"..\", \".\" and \"//\"");
  }
  if (site.known && root_of(path, site.config.roots).empty()) {
    std::string roots;
    for (const std::string& root : site.config.roots) roots += (roots.empty() ? "" : ", ") + root;
    return wrong(quote(path) + " is not below a directory that this site configured: " + roots);
  }
  request.dest = std::move(path);
  return {};
}

Status add_filter(std::vector<std::string>& filters, std::string_view text) {
  if (text.empty()) return wrong("the pattern is empty");
  if (text.size() > kMaxFilter) return wrong("the pattern is longer than 1024 bytes");
  if (has_control(text) || !valid_utf8(text)) {
    return wrong(quote(text) + " contains unprintable characters");
  }
  if (std::find(filters.begin(), filters.end(), text) != filters.end()) return {};
  if (filters.size() >= kMaxFilters) return wrong("more than 64 patterns");
  filters.emplace_back(text);
  return {};
}

std::string root_of(std::string_view path, const std::vector<std::string>& roots) {
  std::string best;
  for (const std::string& root : roots) {
    const bool below = path.size() > root.size() + 1 && path.substr(0, root.size()) == root &&
                       path[root.size()] == '/';
    if (below && root.size() > best.size()) best = root;
  }
  return best;
}

std::string encode_request(const JobRequest& request) {
  std::string out(kVersion);
  for (const ModelRequest& model : request.models) {
    out += ";m=" + model.name + "," + encode(model.url);
  }
  if (!request.dest.empty()) out += ";d=" + encode(request.dest);
  for (const std::string& filter : request.include) out += ";i=" + encode(filter);
  for (const std::string& filter : request.exclude) out += ";x=" + encode(filter);
  return out;
}

Result<JobRequest> decode_request(std::string_view text, const Site& site) {
  const auto damaged = [] {
    return fail(ExitCode::kUsage, "the request that came with the job is damaged: submit it again");
  };
  if (text.size() > kMaxText || has_control(text)) return damaged();
  JobRequest request;
  bool first = true;
  while (first || !text.empty()) {
    const std::size_t end = std::min(text.find(';'), text.size());
    const std::string_view item = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (first) {
      first = false;
      if (item == kVersion) continue;
      return fail(
          ExitCode::kUsage,
          "the submit host has another version of the plugin than this node: the admin must "
          "install the same one on both");
    }
    if (item.size() < 2 || item[1] != '=') return damaged();
    const std::string_view value = item.substr(2);
    std::string plain;
    Status status;
    switch (item[0]) {
      case 'm': {
        const std::size_t comma = value.find(',');
        if (comma == std::string_view::npos || !decode(value.substr(comma + 1), plain)) {
          return damaged();
        }
        std::string model(value.substr(0, comma));
        if (!model.empty()) model += '=';
        status = add_model(request, model += plain, site);
        break;
      }
      case 'd':
        if (!request.dest.empty() || !decode(value, plain)) return damaged();
        status = set_dest(request, plain, site);
        break;
      case 'i':
      case 'x':
        if (!decode(value, plain)) return damaged();
        status = add_filter(item[0] == 'i' ? request.include : request.exclude, plain);
        break;
      default:
        return damaged();
    }
    if (!status) return tl::unexpected<Error>(status.error());
  }
  if (request.models.empty()) return damaged();
  return request;
}

}  // namespace stage_model
