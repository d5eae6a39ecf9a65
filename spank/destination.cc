#include "spank/destination.h"

#include <cstdint>
#include <set>

#include "engine/base/text.h"
#include "engine/contract/model_url.h"

namespace stage_model::spank {
namespace {

// FNV-1a. Two models of one user with one last part would have to collide: 1 in 2^32, and the
// engine would see from the manifest that the directory holds another source.
class Hash {
 public:
  void add(std::string_view text) {
    for (const char c : text) add(static_cast<unsigned char>(c));
    add(0);  // "ab" "c" is not "a" "bc"
  }
  [[nodiscard]] std::string hex() const {
    static constexpr char kHex[] = "0123456789abcdef";
    const auto folded = static_cast<std::uint32_t>(state_ ^ (state_ >> 32));
    std::string out;
    for (int shift = 28; shift >= 0; shift -= 4) out += kHex[(folded >> shift) & 15];
    return out;
  }

 private:
  void add(unsigned char byte) { state_ = (state_ ^ byte) * 0x100000001b3ULL; }
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

bool is_below(const std::string& path, const std::string& parent) {
  return path.size() > parent.size() && path.compare(0, parent.size(), parent) == 0 &&
         path[parent.size()] == '/';
}

}  // namespace

std::string default_name(const JobRequest& request, const ModelRequest& model) {
  Hash hash;
  hash.add(model.url);
  for (const std::string& filter : request.include) hash.add("+" + filter);
  for (const std::string& filter : request.exclude) hash.add("-" + filter);
  return url_last_part(model.url) + "-" + hash.hex();
}

Result<Destinations> plan_destinations(const JobRequest& request, const Config& config,
                                       const std::string& user) {
  Destinations plan;
  plan.root = request.dest.empty() ? config.roots.front() : root_of(request.dest, config.roots);
  if (plan.root.empty()) {
    return fail(ExitCode::kUsage, "--stage-dest: " + quote(request.dest) +
                                      " is not below a directory that this site configured");
  }
  const std::string user_root = plan.root + "/" + user;
  if (request.dest == user_root && request.models.size() == 1) {
    return fail(ExitCode::kUsage, "--stage-dest: " + quote(request.dest) +
                                      " is the directory above your models: name one below it");
  }
  std::set<std::string> taken;
  for (const ModelRequest& model : request.models) {
    EngineCommand run;
    run.name = model.name;
    if (request.dest.empty()) {
      run.directory = user_root + "/" + default_name(request, model);
    } else if (request.models.size() == 1) {
      run.directory = request.dest;
    } else {
      run.directory =
          request.dest + "/" + (model.name.empty() ? url_last_part(model.url) : model.name);
    }
    if (!taken.insert(run.directory).second) {
      return fail(ExitCode::kUsage, "two models would go to " + quote(run.directory) +
                                        ": give each another URL or NAME");
    }
    if (is_below(run.directory, user_root)) plan.user_root = user_root;
    // The launcher puts the site's options before these: it reads the same configuration.
    run.arguments = {model.url, "--no-progress"};
    // One word each, so that a pattern may begin with a dash.
    for (const std::string& filter : request.include)
      run.arguments.push_back("--include=" + filter);
    for (const std::string& filter : request.exclude)
      run.arguments.push_back("--exclude=" + filter);
    plan.runs.push_back(std::move(run));
  }
  return plan;
}

}  // namespace stage_model::spank
