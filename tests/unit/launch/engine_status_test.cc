#include "engine/launch/engine_status.h"

#include <gtest/gtest.h>

#include "stage_model/channel.h"

namespace stage_model::launch {
namespace {

using Word = StatusEvent::Word;

TEST(StatusChannel, EveryWord) {
  StatusReader reader;
  const auto events = reader.append(
      "connected\nstage move\nalive 10 200\nfailed 4 n3 disk full: 1 GiB\nfailed 3 - no such "
      "model\n"
      "staged /a b/c\n");
  ASSERT_EQ(events.size(), 6U);
  EXPECT_EQ(events[0].word, Word::kConnected);
  EXPECT_EQ(events[1].text, "move");
  EXPECT_EQ(events[2].done, 10U);
  EXPECT_EQ(events[2].total, 200U);
  EXPECT_EQ(events[3].word, Word::kFailed);
  EXPECT_EQ(events[3].code, ExitCode::kDestination);
  EXPECT_EQ(events[3].node, "n3");
  EXPECT_EQ(events[3].text, "disk full: 1 GiB");
  EXPECT_EQ(events[4].node, "");
  EXPECT_EQ(events[5].text, "/a b/c");
}

TEST(StatusChannel, LinesComeInPieces) {
  StatusReader reader;
  EXPECT_TRUE(reader.append("conn").empty());
  EXPECT_EQ(reader.append("ected\nali").size(), 1U);
  EXPECT_EQ(reader.append("ve 1 2\n").size(), 1U);
}

TEST(StatusChannel, UnknownAndMalformedLinesAreSkipped) {
  StatusReader reader;
  EXPECT_TRUE(reader.append("hello\nalive\nalive x 1\nalive -1 2\nfailed x - y\n\n \n").empty());
  EXPECT_EQ(reader.append("connected\n").size(), 1U);
}

TEST(StatusChannel, AnUnknownCodeIsStopped) {
  StatusReader reader;
  for (const char* line :
       {"failed 0 - r\n", "failed 1 - r\n", "failed 99 - r\n", "failed -4 - r\n"}) {
    const auto events = reader.append(line);
    ASSERT_EQ(events.size(), 1U) << line;
    EXPECT_EQ(events[0].code, ExitCode::kStopped);
  }
}

TEST(StatusChannel, LongLinesAreDroppedWhole) {
  StatusReader reader;
  const std::string start = "failed 4 - ";
  const std::string fits = start + std::string(kMaxStatusLine - 1 - start.size(), 'x') + "\n";
  EXPECT_EQ(reader.append(fits).size(), 1U);
  EXPECT_TRUE(reader.append(start + std::string(kMaxStatusLine, 'x')).empty());
  EXPECT_TRUE(reader.append("still the same line\n").empty());
  EXPECT_EQ(reader.append("connected\n").size(), 1U);
}

TEST(StatusChannel, ControlCharactersDoNotReachTheMessage) {
  StatusReader reader;
  const auto events = reader.append("failed 4 n\x1b[1m red\x1b[31m text\n");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].text.find('\x1b'), std::string::npos);
  EXPECT_EQ(events[0].node.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace stage_model::launch
