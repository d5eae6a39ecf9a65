#include "spank/remove_directory.h"

#include <gmock/gmock.h>

#include "fake_slurm.h"

namespace stage_model::spank {
namespace {

class RemoveDirectoryTest : public NodeTest {
 protected:
  Status remove(const std::string& name, const std::function<bool()>& still_unused) {
    RemovalRequest request;
    request.root = root;
    request.path = name;
    request.hidden_name = ".gone-7";
    request.uid = ::geteuid();
    request.gid = ::getegid();
    request.still_unused = still_unused;
    return remove_directory(request);
  }
  void make(const std::string& name) const {
    std::filesystem::create_directory(root + "/" + name);
    std::ofstream(root + "/" + name + "/file") << "x";
  }
  bool there(const std::string& name) const { return std::filesystem::exists(root + "/" + name); }
  std::size_t count() const {
    std::filesystem::directory_iterator all(root);
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
};

TEST_F(RemoveDirectoryTest, GoesAway) {
  make("m");
  EXPECT_TRUE(remove("m", [] { return true; }));
  EXPECT_EQ(count(), 0U);
}

TEST_F(RemoveDirectoryTest, ALongNameGoesAwayToo) {
  const std::string name(250, 'n');
  make(name);
  EXPECT_TRUE(remove(name, [] { return true; }));
  EXPECT_EQ(count(), 0U);
}

TEST_F(RemoveDirectoryTest, WhatIsUsedAfterAllComesBack) {
  make("m");
  EXPECT_TRUE(remove("m", [] { return false; }));
  EXPECT_TRUE(there("m/file"));
  EXPECT_EQ(count(), 1U);
}

TEST_F(RemoveDirectoryTest, WhoTookThePlaceKeepsIt) {
  make("m");
  EXPECT_TRUE(remove("m", [this] {
    make("m");
    return false;
  }));
  EXPECT_TRUE(there("m/file"));
  EXPECT_EQ(count(), 1U);
}

// Somebody uses it, and it cannot be put back: the files stay, and the admin hears of it.
TEST_F(RemoveDirectoryTest, NothingInUseIsRemovedBecauseItCannotBePutBack) {
  make("m");
  const Status status = remove("m", [this] {
    std::filesystem::rename(root, base + "/elsewhere");  // e.g. the mount went away
    std::ofstream(root) << "no directory";
    return false;
  });
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, ::testing::HasSubstr("cannot be removed"));
  EXPECT_TRUE(std::filesystem::exists(base + "/elsewhere/.gone-7-m/file"));
}

}  // namespace
}  // namespace stage_model::spank
