#include "engine/base/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace stage_model {
namespace {

bool open_in_kernel(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

Fd null_device() { return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

TEST(Fd, ClosesWhenItGoes) {
  int number = -1;
  {
    const Fd fd = null_device();
    ASSERT_TRUE(fd);
    number = fd.get();
    EXPECT_TRUE(open_in_kernel(number));
  }
  EXPECT_FALSE(open_in_kernel(number));
}

TEST(Fd, AssigningClosesTheOldOneAtOnce) {
  Fd kept = null_device();
  Fd taken = null_device();
  const int old = kept.get();
  const int moved = taken.get();
  kept = std::move(taken);
  EXPECT_EQ(kept.get(), moved);
  EXPECT_TRUE(open_in_kernel(moved));
  EXPECT_FALSE(open_in_kernel(old));
}

TEST(Fd, ReleaseGivesItAway) {
  Fd fd = null_device();
  const Fd again(fd.release());
  EXPECT_FALSE(fd);
  EXPECT_TRUE(open_in_kernel(again.get()));
}

}  // namespace
}  // namespace stage_model
