#include "spank/job.h"

#include <gtest/gtest.h>
#include <pwd.h>

namespace stage_model::spank {
namespace {

Job job_of(const char* user, uid_t uid) {
  Job job;
  job.user = user;
  job.uid = uid;
  return job;
}

TEST(UserDirectory, IsTheLoginNameOrTheUid) {
  EXPECT_EQ(user_directory(job_of("alice", 20001)), "alice");
  EXPECT_EQ(user_directory(job_of("alice@site.example", 20001)), "alice@site.example");
  for (const char* name : {"", ".", "..", "-x", "a/b", "a b", "caf\xc3\xa9"}) {
    EXPECT_EQ(user_directory(job_of(name, 20001)), "20001") << name;
  }
}

// Slurm's name for everybody whose uid does not resolve: they must not share a directory.
TEST(UserDirectory, NobodyIsOneUserOnly) {
  EXPECT_EQ(user_directory(job_of("nobody", 20001)), "20001");
  EXPECT_EQ(user_directory(job_of("nobody", 20002)), "20002");
  if (const struct passwd* nobody = ::getpwnam("nobody")) {
    EXPECT_EQ(user_directory(job_of("nobody", nobody->pw_uid)), "nobody");
  }
}

}  // namespace
}  // namespace stage_model::spank
