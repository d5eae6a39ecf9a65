// A file system of a test's own: a loop device (or tmpfs) mounted in a private mount namespace, so
// that nothing stays mounted whatever becomes of the test. Needs root.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/unit/store/support.h"

namespace stage_model::store {

// What a command prints, without the last newline; its exit status decides `ok`.
struct Output {
  bool ok = false;
  std::string text;
};

inline Output shell(const std::string& command) {
  Output out;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return out;
  std::array<char, 512> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) out.text += buffer.data();
  out.ok = ::pclose(pipe) == 0;
  if (!out.text.empty() && out.text.back() == '\n') out.text.pop_back();
  return out;
}

// Once per process. False: not root, or not allowed here.
inline bool private_mounts() {
  static const bool done = ::geteuid() == 0 && ::unshare(CLONE_NEWNS) == 0 &&
                           ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  return done;
}

class Disk {
 public:
  // `make`: the mkfs command without the device, e.g. "mkfs.ext4 -q"; "tmpfs" for memory.
  Disk(const std::string& make, const std::string& size, int sector = 512) {
    if (!private_mounts()) {
      why_ = "needs root and mount namespaces";
      return;
    }
    fs::permissions(dir_.path(), static_cast<fs::perms>(0755));  // other users have tests too
    mount_ = dir_ / "mnt";
    fs::create_directory(mount_);
    Output out;
    if (make == "tmpfs") {
      out = shell("mount -t tmpfs -o size=" + size + " tmpfs " + mount_);
    } else {
      // The image in memory: its own pages then never count as dirty ones of the machine.
      memory_ = dir_ / "memory";
      fs::create_directory(memory_);
      const std::string image = memory_ + "/image";
      out = shell("mount -t tmpfs tmpfs " + memory_);
      if (out.ok) out = shell("truncate -s " + size + " " + image);
      if (out.ok) {
        out = shell("losetup --find --show -b " + std::to_string(sector) + " " + image);
        if (out.ok) device_ = out.text;
      }
      if (out.ok) out = shell(make + " " + device_);
      if (out.ok) out = shell("mount " + device_ + " " + mount_);
    }
    mounted_ = out.ok;
    why_ = out.text;
  }
  ~Disk() {
    if (mounted_) shell("umount " + mount_);
    if (!device_.empty()) shell("losetup --detach " + device_);
    if (!memory_.empty()) shell("umount " + memory_);
  }
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  explicit operator bool() const { return mounted_; }
  const std::string& why() const { return why_; }
  const std::string& path() const { return mount_; }
  std::string operator/(const std::string& name) const { return mount_ + "/" + name; }
  Output remount(const std::string& options) {
    return shell("mount -o remount," + options + " " + mount_);
  }

 private:
  TempDir dir_;
  std::string mount_, memory_, device_, why_;
  bool mounted_ = false;
};

}  // namespace stage_model::store
