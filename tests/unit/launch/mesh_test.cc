// Launchers on the loopback, in one loop, that leave and come again while the rendezvous waits.
#include "engine/launch/mesh.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>

namespace stage_model::launch {
namespace {

constexpr double kPatience = 30;
constexpr double kLook = 0.02;

// One launcher's part of the rendezvous. Destroyed, it is what a killed process leaves: closed
// sockets.
class Peer {
 public:
  Peer(Loop& loop, Authenticator& key, const Config& config, const LaunchOrder& job,
       std::uint32_t index, std::uint32_t star_limit, bool may_return)
      : tree_(static_cast<std::uint32_t>(job.nodes.size()), index, star_limit, 1),
        request_(job),
        mesh_(
            loop, key, tree_, config, request_, may_return,
            {[this] { all_met_ = true; }, [](std::uint32_t) {}, [](std::uint32_t, const Frame&) {},
             [this](std::uint32_t neighbour, const std::string&) { lost_ = neighbour; },
             [this](std::uint32_t neighbour, const std::string&) { left_ = neighbour; }}) {
    EXPECT_TRUE(mesh_.start());
  }
  // The beat of a mesh is the loop's for as long as the loop runs, so a killed one is only
  // silenced.
  void kill() {
    mesh_.stop_waiting();
    mesh_.stop_listening();
    mesh_.finish();
  }
  Mesh& mesh() { return mesh_; }
  bool all_met() const { return all_met_; }
  std::optional<std::uint32_t> lost() const { return lost_; }
  std::optional<std::uint32_t> left() const { return left_; }

 private:
  Tree tree_;
  LaunchOrder request_;
  bool all_met_ = false;
  std::optional<std::uint32_t> lost_;
  std::optional<std::uint32_t> left_;
  Mesh mesh_;
};

class MeshTest : public testing::Test {
 protected:
  MeshTest() {
    std::string path = std::filesystem::temp_directory_path() / "mesh.XXXXXX";
    directory_ = mkdtemp(path.data());
    // Ports of this process' own: tests run side by side.
    const auto first = static_cast<std::uint16_t>(28000 + getpid() % 500 * 8);
    config_.launcher_ports = {first, static_cast<std::uint16_t>(first + 7)};
    const std::string key = directory_ + "/key";
    std::ofstream(key) << "a key of sixteen bytes or more";
    chmod(key.c_str(), S_IRUSR);
    key_ = std::move(*make_key_authenticator(key));
    job_.job = "7";
    for (const char* name : {"n0", "n1", "n2"}) job_.nodes.push_back({name, "127.0.0.1"});
  }
  ~MeshTest() override { std::filesystem::remove_all(directory_); }

  Peer& join(std::uint32_t index) {
    peers_.push_back(
        std::make_unique<Peer>(loop_, *key_, config_, job_, index, star_limit_, may_return_));
    return *peers_.back();
  }

  // Runs the loop until it is so.
  bool soon(const std::function<bool()>& so) {
    const double end = now() + kPatience;
    while (!so() && now() < end) {
      loop_.after(kLook, [this] { loop_.stop(); });
      loop_.run();
    }
    return so();
  }

  Loop loop_;
  Config config_;
  std::string directory_;
  std::unique_ptr<Authenticator> key_;
  LaunchOrder job_;
  std::uint32_t star_limit_ = 64;
  bool may_return_ = true;
  std::vector<std::unique_ptr<Peer>> peers_;
};

TEST_F(MeshTest, AChildThatWasRestartedIsTakenInAgain) {
  Peer& root = join(0);
  Peer& child = join(1);
  ASSERT_TRUE(soon([&] { return child.mesh().has_parent(); }));
  child.kill();
  ASSERT_TRUE(soon([&] { return root.left() == 1U; }));
  EXPECT_EQ(root.mesh().missing_nodes(), "n1, n2");
  EXPECT_EQ(root.mesh().absent_children(), (std::vector<std::uint32_t>{1, 2}));
  join(2);
  ASSERT_TRUE(soon([&] { return root.mesh().missing_nodes() == "n1"; }));
  EXPECT_FALSE(root.all_met());
  join(1);
  EXPECT_TRUE(soon([&] { return root.all_met(); }));
  EXPECT_FALSE(root.lost());
}

TEST_F(MeshTest, ARootThatWasRestartedIsFoundAgain) {
  Peer& root = join(0);
  Peer& one = join(1);
  ASSERT_TRUE(soon([&] { return one.mesh().has_parent(); }));
  root.kill();
  ASSERT_TRUE(soon([&] { return one.left() == 0U; }));
  Peer& again = join(0);
  join(2);
  EXPECT_TRUE(soon([&] { return again.all_met(); }));
  EXPECT_FALSE(one.lost());
}

// 0 → 1 → 2: index 0 hears of index 2 through 1 only.
TEST_F(MeshTest, InATreeTheRootHearsThatAGrandchildLeft) {
  star_limit_ = 1;
  Peer& root = join(0);
  Peer& inner = join(1);
  ASSERT_TRUE(soon([&] { return inner.mesh().has_parent(); }));
  EXPECT_EQ(root.mesh().missing_nodes(), "n2");
  Peer& leaf = join(2);
  ASSERT_TRUE(soon([&] { return root.all_met(); }));
  leaf.kill();
  ASSERT_TRUE(soon([&] { return !root.mesh().is_complete(); }));
  EXPECT_EQ(root.mesh().missing_nodes(), "n2");
  join(2);
  EXPECT_TRUE(soon([&] { return root.mesh().is_complete(); }));
}

TEST_F(MeshTest, InATreeARestartedInnerLauncherBringsItsOwnAgain) {
  star_limit_ = 1;
  Peer& root = join(0);
  Peer& inner = join(1);
  Peer& leaf = join(2);
  ASSERT_TRUE(soon([&] { return root.all_met(); }));
  inner.kill();
  ASSERT_TRUE(soon([&] { return root.left() == 1U && leaf.left() == 1U; }));
  EXPECT_EQ(root.mesh().missing_nodes(), "n1");
  join(1);
  EXPECT_TRUE(soon([&] { return root.mesh().is_complete(); }));
}

TEST_F(MeshTest, InATreeARestartedRootHearsOfAll) {
  star_limit_ = 1;
  Peer& root = join(0);
  Peer& inner = join(1);
  join(2);
  ASSERT_TRUE(soon([&] { return root.all_met(); }));
  root.kill();
  ASSERT_TRUE(soon([&] { return inner.left() == 0U; }));
  Peer& again = join(0);
  EXPECT_TRUE(soon([&] { return again.all_met(); }));
}

TEST_F(MeshTest, OnceTheEnginesStartALostNeighbourIsLost) {
  Peer& root = join(0);
  Peer& one = join(1);
  join(2);
  ASSERT_TRUE(soon([&] { return root.all_met(); }));
  root.mesh().stop_waiting();
  one.kill();
  ASSERT_TRUE(soon([&] { return root.lost() == 1U; }));
  // Its place is taken: who comes for it now is of another attempt.
  Peer& again = join(1);
  const double end = now() + 1;
  ASSERT_TRUE(soon([&] { return now() > end; }));
  EXPECT_FALSE(again.mesh().has_parent());
}

TEST_F(MeshTest, APrologNeverComesAgain) {
  may_return_ = false;
  Peer& root = join(0);
  Peer& one = join(1);
  ASSERT_TRUE(soon([&] { return one.mesh().has_parent(); }));
  one.kill();
  EXPECT_TRUE(soon([&] { return root.lost() == 1U; }));
}

}  // namespace
}  // namespace stage_model::launch
