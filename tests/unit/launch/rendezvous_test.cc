// Listener and connector on the loopback, in one loop.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "engine/launch/connector.h"
#include "engine/launch/listener.h"
#include "engine/launch/node_addresses.h"

namespace stage_model::launch {
namespace {

class Rendezvous : public testing::Test {
 protected:
  Rendezvous() {
    std::string path = std::filesystem::temp_directory_path() / "meet.XXXXXX";
    directory_ = mkdtemp(path.data());
    // Ports of this process' own: tests run side by side.
    const auto first = static_cast<std::uint16_t>(20000 + getpid() % 4000 * 8);
    config_.launcher_ports = {first, static_cast<std::uint16_t>(first + 7)};
    key_ = authenticator("a key of sixteen bytes or more");
    loop_.after(20, [this] { loop_.stop(); });
  }
  ~Rendezvous() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<Authenticator> authenticator(const std::string& text) {
    const std::string path = directory_ + "/" + std::to_string(++keys_);
    std::ofstream(path) << text;
    chmod(path.c_str(), S_IRUSR);
    return std::move(*make_key_authenticator(path));
  }
  using OnLinked = std::function<void(std::uint32_t child, const std::shared_ptr<Link>& link)>;
  ListenerEvents events(OnLinked linked) {
    return {[](std::uint32_t) { return true; }, std::move(linked),
            [this](std::uint32_t, const std::string& why) { refusal_ = why; }};
  }
  ListenerEvents count_up() {
    return events([this](std::uint32_t child, const std::shared_ptr<Link>& link) {
      children_[child] = link;
      if (children_.size() == wanted_) loop_.stop();
    });
  }

  Loop loop_;
  Config config_;
  std::string directory_;
  int keys_ = 0;
  std::unique_ptr<Authenticator> key_;
  std::map<std::uint32_t, std::shared_ptr<Link>> children_;
  std::size_t wanted_ = 1;
  std::shared_ptr<Link> up_;
  std::string refusal_;
};

TEST_F(Rendezvous, TheyMeetAndUnderstandEachOther) {
  const Tree root(2, 0);
  const Tree leaf(2, 1);
  std::string heard;
  Listener listener(loop_, *key_, root, "7",
                    events([&](std::uint32_t child, const std::shared_ptr<Link>& link) {
                      children_[child] = link;
                      link->set_handlers(
                          [&](const Frame& frame) {
                            heard = frame.body;
                            loop_.stop();
                          },
                          nullptr);
                    }));
  ASSERT_TRUE(listener.start(config_.launcher_ports));
  Connector connector(loop_, *key_, leaf, config_, "7", {"n0", "127.0.0.1"},
                      [&](const std::shared_ptr<Link>& link) {
                        up_ = link;
                        link->send(MessageType::kFailed, "hello");
                      });
  connector.start();
  loop_.run();
  EXPECT_EQ(heard, "hello");
}

TEST_F(Rendezvous, WhoIsNotAdmittedIsSentAway) {
  const Tree root(2, 0);
  const Tree leaf(2, 1);
  ListenerEvents nobody = count_up();
  nobody.admits = [](std::uint32_t) { return false; };
  Listener listener(loop_, *key_, root, "7", nobody);
  ASSERT_TRUE(listener.start(config_.launcher_ports));
  Connector connector(loop_, *key_, leaf, config_, "7", {"n0", "127.0.0.1"},
                      [&](const std::shared_ptr<Link>& link) { up_ = link; });
  connector.start();
  loop_.after(0.5, [this] { loop_.stop(); });
  loop_.run();
  EXPECT_TRUE(children_.empty());
  EXPECT_FALSE(up_);
}

TEST_F(Rendezvous, OverIPv6) {
  const Tree root(2, 0);
  const Tree leaf(2, 1);
  const int probe = socket(AF_INET6, SOCK_STREAM, 0);
  sockaddr_in6 loopback{};
  loopback.sin6_family = AF_INET6;
  loopback.sin6_addr = in6addr_loopback;
  const bool usable =
      probe >= 0 && bind(probe, reinterpret_cast<sockaddr*>(&loopback), sizeof loopback) == 0;
  if (probe >= 0) close(probe);
  if (!usable) GTEST_SKIP() << "no IPv6 here";
  Listener listener(loop_, *key_, root, "7", count_up());
  ASSERT_TRUE(listener.start(config_.launcher_ports));
  Connector connector(loop_, *key_, leaf, config_, "7", {"n0", "::1"},
                      [&](const std::shared_ptr<Link>& link) { up_ = link; });
  connector.start();
  loop_.run();
  EXPECT_EQ(children_.size(), 1U);
}

TEST_F(Rendezvous, JobsWithTheSamePortsFindTheirOwn) {
  const Tree root(2, 0);
  const Tree leaf(2, 1);
  std::string met;
  const auto listen = [&](const std::string& job) {
    return std::make_unique<Listener>(
        loop_, *key_, root, job,
        events([&met, this, job](std::uint32_t, const std::shared_ptr<Link>& link) {
          met += job + " ";
          children_[children_.size()] = link;
          if (children_.size() == 2) loop_.stop();
        }));
  };
  const auto one = listen("8");
  const auto two = listen("16");  // eight ports: the same first one
  ASSERT_EQ(port_sequence("8", config_.launcher_ports),
            port_sequence("16", config_.launcher_ports));
  ASSERT_TRUE(one->start(config_.launcher_ports));
  ASSERT_TRUE(two->start(config_.launcher_ports));
  std::vector<std::shared_ptr<Link>> links;
  const auto keep = [&](const std::shared_ptr<Link>& link) { links.push_back(link); };
  Connector second(loop_, *key_, leaf, config_, "16", {"n0", "127.0.0.1"}, keep);
  second.start();
  Connector first(loop_, *key_, leaf, config_, "8", {"n0", "127.0.0.1"}, keep);
  first.start();
  loop_.run();
  EXPECT_TRUE(met == "8 16 " || met == "16 8 ") << met;
}

TEST_F(Rendezvous, AWrongKeyIsRefusedAndNamed) {
  const auto other = authenticator("another key of sixteen bytes");
  const Tree root(2, 0);
  const Tree leaf(2, 1);
  Listener listener(loop_, *key_, root, "7", count_up());
  ASSERT_TRUE(listener.start(config_.launcher_ports));
  Connector connector(loop_, *other, leaf, config_, "7", {"n0", "127.0.0.1"},
                      [&](const std::shared_ptr<Link>& link) { up_ = link; });
  connector.start();
  loop_.after(0.5, [this] { loop_.stop(); });
  loop_.run();
  EXPECT_TRUE(children_.empty());
  EXPECT_FALSE(up_);
  EXPECT_NE(refusal_.find("different key"), std::string::npos);
  EXPECT_NE(connector.problem().find("refused this one's credential"), std::string::npos)
      << connector.problem();
}

// A parent that cannot prove itself gets nothing either: its welcome is checked like any.
TEST_F(Rendezvous, AFalseParentIsRefused) {
  const Tree leaf(2, 1);
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port_sequence("7", config_.launcher_ports).front());
  const int one = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(listener, 5), 0);
  std::shared_ptr<Link> fake;
  loop_.watch(listener, POLLIN, [&](short) {
    fake = Link::create(loop_, accept4(listener, nullptr, nullptr, SOCK_NONBLOCK));
    fake->set_handlers(
        [&](const Frame& frame) {
          if (frame.type == MessageType::kHello) {
            fake->send(MessageType::kChallenge, std::string(kNonceSize, 'n'));
          } else {
            fake->send(MessageType::kWelcome, frame.body);  // the child's own credential, sent back
          }
        },
        nullptr);
  });
  Connector connector(loop_, *key_, leaf, config_, "7", {"n0", "127.0.0.1"},
                      [&](const std::shared_ptr<Link>& link) { up_ = link; });
  connector.start();
  loop_.after(0.5, [this] { loop_.stop(); });
  loop_.run();
  EXPECT_FALSE(up_);
  loop_.unwatch(listener);
  close(listener);
}

TEST_F(Rendezvous, NoPortLeftIsAnError) {
  const Tree root(2, 0);
  config_.launcher_ports.last = config_.launcher_ports.first;
  Listener first(loop_, *key_, root, "7", count_up());
  ASSERT_TRUE(first.start(config_.launcher_ports));
  Listener second(loop_, *key_, root, "8", count_up());
  const Status started = second.start(config_.launcher_ports);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ExitCode::kFabric);
}

}  // namespace
}  // namespace stage_model::launch
