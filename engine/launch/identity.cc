#include "engine/launch/identity.h"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>

namespace stage_model::launch {
namespace {

constexpr std::size_t kBuffer = 65536;
constexpr int kMaxGroups = 65536;

}  // namespace

Identity look_up_identity(uid_t uid, gid_t gid, const std::string& user) {
  Identity identity;
  identity.uid = uid;
  identity.gid = gid;
  identity.name = user;
  identity.groups = {gid};

  std::vector<char> buffer(kBuffer);
  passwd entry{};
  passwd* found = nullptr;
  // A user name that belongs to another uid would give the engine that user's home.
  getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
  if (found != nullptr) {
    if (identity.name.empty()) identity.name = entry.pw_name;
    struct stat info {};
    if (stat(entry.pw_dir, &info) == 0 && S_ISDIR(info.st_mode)) identity.home = entry.pw_dir;
  }
  if (user.empty()) return identity;

  int count = 64;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  while (getgrouplist(user.c_str(), gid, groups.data(), &count) < 0 && count <= kMaxGroups) {
    // Some libraries do not say how many there are.
    if (static_cast<std::size_t>(count) <= groups.size())
      count = static_cast<int>(groups.size()) * 2;
    groups.resize(static_cast<std::size_t>(count));
  }
  if (count > 0 && static_cast<std::size_t>(count) <= groups.size()) {
    groups.resize(static_cast<std::size_t>(count));
    identity.groups = groups;
  }
  return identity;
}

}  // namespace stage_model::launch
