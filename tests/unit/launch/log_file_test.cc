#include "engine/launch/log_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace stage_model::launch {
namespace {

TEST(LogFile, IsBoundedAndPrivate) {
  std::string path = std::filesystem::temp_directory_path() / "log.XXXXXX";
  const std::string directory = mkdtemp(path.data());
  {
    LogFile log(directory + "/log", 10);
    log.write("12345");
    log.write("67890abc");
    log.write("never");
  }
  std::stringstream text;
  text << std::ifstream(directory + "/log").rdbuf();
  EXPECT_EQ(text.str(), "1234567890\n[the log ends here: its limit is reached]\n");
  struct stat info {};
  stat((directory + "/log").c_str(), &info);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  std::filesystem::remove_all(directory);
}

TEST(LogFile, NoFileIsNoTrouble) {
  LogFile none("");
  none.write("x");
  LogFile missing("/no/such/directory/log");
  missing.write("x");
  EXPECT_FALSE(missing.is_open());
}

}  // namespace
}  // namespace stage_model::launch
