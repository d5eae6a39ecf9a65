#include "engine/launch/user_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace stage_model::launch {
namespace {

namespace fs = std::filesystem;

class UserDirectory : public testing::Test {
 protected:
  UserDirectory() {
    std::string path = fs::temp_directory_path() / "root.XXXXXX";
    root_ = mkdtemp(path.data());
    // Without root's rights the tests run as one user, and chown is not looked at.
    uid_ = geteuid() == 0 ? 12345 : geteuid();
    gid_ = geteuid() == 0 ? 12346 : getegid();
  }
  ~UserDirectory() override { fs::remove_all(root_); }
  Status make(const std::string& directory) {
    return make_user_directory(root_, directory, uid_, gid_);
  }
  struct stat info(const std::string& path) {
    struct stat found {};
    EXPECT_EQ(lstat(path.c_str(), &found), 0) << path;
    return found;
  }
  std::string root_;
  uid_t uid_;
  gid_t gid_;
};

TEST_F(UserDirectory, IsMadeForTheUserAlone) {
  ASSERT_TRUE(make(root_ + "/alice"));
  const struct stat made = info(root_ + "/alice");
  EXPECT_EQ(made.st_uid, uid_);
  EXPECT_EQ(made.st_gid, gid_);
  EXPECT_EQ(made.st_mode & 07777, 0700U);
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), fs::directory_iterator()), 1)
      << "no temporary name is left";
  EXPECT_TRUE(make(root_ + "/alice")) << "and may be there already";
}

TEST_F(UserDirectory, WhatIsThereIsNeverChanged) {
  fs::create_directory(root_ + "/alice");
  fs::permissions(root_ + "/alice", fs::perms(0755));
  const struct stat before = info(root_ + "/alice");
  const Status made = make(root_ + "/alice");
  EXPECT_EQ(made.has_value(), geteuid() != 0) << "another's directory is refused";
  const struct stat after = info(root_ + "/alice");
  EXPECT_EQ(after.st_uid, before.st_uid);
  EXPECT_EQ(after.st_mode, before.st_mode);
}

TEST_F(UserDirectory, LinksAndFilesAreRefused) {
  fs::create_directory(root_ + "/elsewhere");
  fs::create_symlink(root_ + "/elsewhere", root_ + "/alice");
  EXPECT_FALSE(make(root_ + "/alice"));
  fs::create_symlink("elsewhere", root_ + "/link");
  EXPECT_FALSE(make(root_ + "/link/alice"));
  EXPECT_TRUE(fs::is_empty(root_ + "/elsewhere"));
  std::ofstream(root_ + "/file") << "x";
  const Status file = make(root_ + "/file");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ExitCode::kDestination);
  EXPECT_NE(file.error().message.find("/file"), std::string::npos);
}

TEST_F(UserDirectory, PlacesOutsideTheRootAreRefused) {
  for (const std::string& bad :
       {root_, root_ + "/", root_ + "/..", root_ + "/../x", root_ + "x/alice",
        std::string("/alice"), root_ + "/a/../../x", std::string()}) {
    EXPECT_FALSE(make(bad)) << bad;
  }
}

TEST_F(UserDirectory, OneLevelBelowOnly) {
  EXPECT_FALSE(make(root_ + "/group/alice")) << "the directory above must be there";
  fs::create_directory(root_ + "/group");
  EXPECT_TRUE(make(root_ + "/group/alice"));
}

TEST_F(UserDirectory, AMissingRootIsNamed) {
  const Status made = make_user_directory(root_ + "/none", root_ + "/none/alice", uid_, gid_);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find(root_ + "/none"), std::string::npos);
}

}  // namespace
}  // namespace stage_model::launch
