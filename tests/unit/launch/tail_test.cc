#include "engine/launch/tail.h"

#include <gtest/gtest.h>

namespace stage_model::launch {
namespace {

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
