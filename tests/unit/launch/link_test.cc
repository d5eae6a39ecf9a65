#include "engine/launch/link.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

namespace stage_model::launch {
namespace {

class LinkTest : public testing::Test {
 protected:
  LinkTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    one_ = Link::create(loop_, ends[0]);
    two_fd_ = dup(ends[1]);
    two_ = Link::create(loop_, ends[1]);
    two_->set_handlers([this](const Frame& frame) { got_.push_back(frame); },
                       [this](const std::string& why) {
                         closed_ = why;
                         loop_.stop();
                       });
    loop_.after(5, [this] { loop_.stop(); });
  }
  ~LinkTest() override { close(two_fd_); }
  Loop loop_;
  std::shared_ptr<Link> one_;
  std::shared_ptr<Link> two_;
  int two_fd_ = -1;
  std::vector<Frame> got_;
  std::string closed_;
};

TEST_F(LinkTest, CarriesLargeFramesOnceSecured) {
  one_->secure("key-up", "key-down");
  two_->secure("key-down", "key-up");
  one_->send(MessageType::kFence, std::string(5000000, 'x'));
  one_->send(MessageType::kBeat, "");
  one_->finish();
  loop_.run();
  ASSERT_EQ(got_.size(), 2U);
  EXPECT_EQ(got_[0].body, std::string(5000000, 'x'));
  EXPECT_EQ(got_[1].body, "");
  EXPECT_EQ(closed_, "connection lost");
}

TEST_F(LinkTest, AnUnprovenSideMustBeBrief) {
  one_->send(MessageType::kHello, std::string(kMaxGreeting + 1, 'x'));
  loop_.run();
  EXPECT_TRUE(got_.empty());
  EXPECT_FALSE(closed_.empty());
}

TEST_F(LinkTest, AWrongKeyEndsIt) {
  one_->secure("another", "key-down");
  two_->secure("key-down", "key-up");
  one_->send(MessageType::kStart, "1");
  loop_.run();
  EXPECT_TRUE(got_.empty());
  EXPECT_FALSE(closed_.empty());
}

// Somebody who has got hold of the connection cannot say again what was said before.
TEST_F(LinkTest, ARepeatedFrameEndsIt) {
  std::array<int, 2> tap{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, tap.data()), 0);
  auto writer = Link::create(loop_, tap[0]);
  writer->secure("key-up", "");
  writer->send(MessageType::kStart, "1");
  std::array<char, 1000> bytes{};
  const ssize_t length = read(tap[1], bytes.data(), bytes.size());
  ASSERT_GT(length, 0);
  const std::string frame(bytes.data(), static_cast<std::size_t>(length));
  writer->close();
  close(tap[1]);
  std::array<int, 2> replay{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, replay.data()), 0);
  auto reader = Link::create(loop_, replay[1]);
  reader->secure("key-down", "key-up");
  reader->set_handlers([this](const Frame& got) { got_.push_back(got); },
                       [this](const std::string& why) {
                         closed_ = why;
                         loop_.stop();
                       });
  const std::string twice = frame + frame;
  ASSERT_EQ(write(replay[0], twice.data(), twice.size()), static_cast<ssize_t>(twice.size()));
  loop_.run();
  EXPECT_EQ(got_.size(), 1U);
  EXPECT_FALSE(closed_.empty());
  close(replay[0]);
}

}  // namespace
}  // namespace stage_model::launch
