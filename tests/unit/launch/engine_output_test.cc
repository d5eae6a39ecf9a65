#include "engine/launch/engine_output.h"

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

std::string last_of(const std::string& text) {
  Tail tail;
  tail.add(text);
  return tail.last_line();
}

TEST(Tail, TheLastLineThatSaysSomething) {
  EXPECT_EQ(last_of(""), "");
  EXPECT_EQ(last_of("one\ntwo\n"), "two");
  EXPECT_EQ(last_of("one\nno newline yet"), "no newline yet");
  EXPECT_EQ(last_of("ORTE was unable\n-------------\n\n  \n"), "ORTE was unable");
  EXPECT_EQ(last_of("-----\n"), "");
}

TEST(Tail, PiecesOfALineAreJoinedAndMemoryIsBounded) {
  Tail tail;
  tail.add("first\nsec");
  tail.add("ond\n");
  EXPECT_EQ(tail.last_line(), "second");
  tail.add(std::string(1 << 20, 'x'));
  EXPECT_LE(tail.last_line().size(), 210U);
  tail.add("\nthe end");
  EXPECT_EQ(tail.last_line(), "the end");
}

TEST(Tail, NothingThatATerminalWouldObey) {
  EXPECT_EQ(last_of("red \x1b[31malert\n").find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace stage_model::launch
