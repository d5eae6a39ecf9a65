#include "engine/launch/loop.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>

namespace stage_model::launch {
namespace {

TEST(Loop, TimersComeInOrderAndCanBeTakenBack) {
  Loop loop;
  std::string order;
  loop.after(0.02, [&] { loop.stop(); });
  loop.after(0.01, [&] { order += "b"; });
  loop.after(0.001, [&] { order += "a"; });
  const Loop::TimerId gone = loop.after(0.005, [&] { order += "x"; });
  loop.cancel(gone);
  loop.cancel(gone);
  loop.run();
  EXPECT_EQ(order, "ab");
}

TEST(Loop, OtherThreadsPost) {
  Loop loop;
  int sum = 0;
  std::thread other([mailbox = loop.mailbox(), &sum, &loop] {
    for (int i = 1; i <= 100; ++i) mailbox->post([&sum, i] { sum += i; });
    mailbox->post([&loop] { loop.stop(); });
  });
  loop.run();
  other.join();
  EXPECT_EQ(sum, 5050);
}

TEST(Loop, ALateMessageIsDropped) {
  std::shared_ptr<Mailbox> mailbox;
  {
    Loop loop;
    mailbox = loop.mailbox();
  }
  mailbox->post([] { FAIL(); });
}

TEST(Loop, AWatchCanEndAnother) {
  Loop loop;
  std::array<int, 2> one{};
  std::array<int, 2> two{};
  ASSERT_EQ(pipe(one.data()) + pipe(two.data()), 0);
  int calls = 0;
  const auto ready = [&](short) {
    ++calls;
    loop.unwatch(one[0]);
    loop.unwatch(two[0]);
    loop.stop();
  };
  loop.watch(one[0], POLLIN, ready);
  loop.watch(two[0], POLLIN, ready);
  ASSERT_EQ(write(one[1], "x", 1) + write(two[1], "x", 1), 2);
  loop.run();
  EXPECT_EQ(calls, 1);
  for (const int fd : {one[0], one[1], two[0], two[1]}) close(fd);
}

TEST(Loop, StopBeforeRun) {
  Loop loop;
  loop.stop();
  loop.run();
}

}  // namespace
}  // namespace stage_model::launch
