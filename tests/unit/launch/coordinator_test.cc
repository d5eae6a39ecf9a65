// What launchers decide, without a socket, a process or a second of real time. Many launchers under
// every fault are the simulator's (tests/simulation/launchers); here is each rule by itself.
#include "engine/launch/coordinator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace stage_model::launch {
namespace {

// The launchers of a job whose messages arrive at once.
class Group : public testing::Test {
 protected:
  struct Launcher {
    std::unique_ptr<Coordinator> machine;
    bool wants_parent = false;
    std::vector<std::uint32_t> started;  // runs
    std::vector<Outcome> records;
    std::map<std::uint64_t, std::string> fences;  // ticket → what came of it
    std::string modex;
    std::string log;
    bool told_to_end = false;
    bool ended = false;
  };

  void make(std::uint32_t nodes, std::uint32_t runs = 1) {
    setup_.runs = runs;
    for (std::uint32_t i = 0; i < nodes; ++i) nodes_.push_back({"n" + std::to_string(i), ""});
    launchers_.resize(nodes);
  }
  void join(std::uint32_t index) {
    setup_.index = index;
    launchers_[index] = {};
    launchers_[index].machine = std::make_unique<Coordinator>(nodes_, setup_);
    machine(index).start(now_);
    machine(index).prepared(now_);
    machine(index).user_found(now_);
    settle();
  }
  void join_all() {
    for (std::uint32_t i = 0; i < launchers_.size(); ++i) join(i);
  }
  // The process is gone, its sockets closed.
  void kill(std::uint32_t index) {
    launchers_[index].machine.reset();
    std::set<std::pair<std::uint32_t, std::uint32_t>> links = links_;
    for (const auto& [a, b] : links) {
      if (a == index || b == index) cut(a, b, "connection lost");
    }
    settle();
  }
  void cut(std::uint32_t a, std::uint32_t b, const std::string& why) {
    if (links_.erase({std::min(a, b), std::max(a, b)}) == 0) return;
    if (launchers_[a].machine) machine(a).link_down(now_, b, why);
    if (launchers_[b].machine) machine(b).link_down(now_, a, why);
  }
  void link_who_look() {
    for (std::uint32_t i = 1; i < launchers_.size(); ++i) {
      if (!launchers_[i].machine || !launchers_[i].wants_parent) continue;
      const std::uint32_t parent = machine(i).tree().parent();
      if (!launchers_[parent].machine || !machine(parent).admits(i)) continue;
      launchers_[i].wants_parent = false;
      links_.insert({std::min(i, parent), std::max(i, parent)});
      machine(parent).link_up(now_, i);
      machine(i).link_up(now_, parent);
    }
  }
  void settle() {
    bool busy = true;
    while (busy) {
      busy = false;
      link_who_look();
      for (std::uint32_t i = 0; i < launchers_.size(); ++i) {
        if (!runs(launchers_[i])) continue;
        const Actions actions = machine(i).take_actions();
        for (const Action& action : actions) carry_out(i, action);
        busy |= !actions.empty();
      }
    }
  }
  void carry_out(std::uint32_t i, const Action& action) {
    Launcher& launcher = launchers_[i];
    if (const auto* send = std::get_if<Send>(&action)) {
      for (const std::uint32_t to : send->to) {
        if (runs(launchers_[to]) && links_.count({std::min(i, to), std::max(i, to)}) != 0) {
          machine(to).received(now_, i, {send->type, send->body});
        }
      }
    } else if (const auto* close = std::get_if<CloseLink>(&action)) {
      cut(i, close->neighbour, "connection lost");
    } else if (std::holds_alternative<FindParent>(action)) {
      launcher.wants_parent = true;
    } else if (std::holds_alternative<FinishLinks>(action)) {
      launcher.wants_parent = false;
    } else if (const auto* start = std::get_if<StartEngine>(&action)) {
      launcher.started.push_back(start->run);
      machine(i).engine_started(now_);
    } else if (std::holds_alternative<EndEngine>(action)) {
      launcher.told_to_end = true;
    } else if (const auto* fence = std::get_if<CompleteFence>(&action)) {
      launcher.fences[fence->ticket] = fence->data;
    } else if (const auto* modex = std::get_if<CompleteModex>(&action)) {
      launcher.modex = modex->data;
    } else if (const auto* look_up = std::get_if<LookUpPublished>(&action)) {
      machine(i).published(now_, look_up->ask, 0, "card of " + std::to_string(i));
    } else if (const auto* record = std::get_if<WriteRecord>(&action)) {
      launcher.records.push_back(record->outcome);
    } else if (const auto* log = std::get_if<Log>(&action)) {
      launcher.log += log->text + "\n";
    } else if (std::holds_alternative<End>(action)) {
      launcher.ended = true;
    }
  }
  void pass(double seconds) {
    const double end = now_ + seconds;
    for (;;) {
      double next = end;
      for (const Launcher& launcher : launchers_) {
        if (runs(launcher)) next = std::min(next, launcher.machine->next_deadline());
      }
      now_ = std::max(now_, next);
      for (Launcher& launcher : launchers_) {
        if (runs(launcher)) launcher.machine->tick(now_);
      }
      settle();
      if (now_ >= end) return;
    }
  }
  // The engine does its work and ends.
  void engine_ends(std::uint32_t i, int status = 0) {
    StatusEvent event;
    for (const auto word : {StatusEvent::Word::kConnected, StatusEvent::Word::kStaged}) {
      event.word = word;
      machine(i).engine_said(now_, event);
    }
    machine(i).finalized();
    machine(i).engine_ended(now_, {status, 0, ""});
    settle();
  }
  void engines_die() {
    for (std::uint32_t i = 0; i < launchers_.size(); ++i) {
      if (launchers_[i].machine && launchers_[i].told_to_end) {
        machine(i).engine_ended(now_, {0, 15, ""});
      }
    }
    settle();
  }
  bool runs(const Launcher& launcher) const {
    return launcher.machine && mute_.count(launcher.machine->tree().me()) == 0;
  }
  Coordinator& machine(std::uint32_t i) { return *launchers_[i].machine; }
  const Outcome& outcome(std::uint32_t i) { return machine(i).outcome(); }
  void expect_failed(std::uint32_t i, const std::string& node, const std::string& reason) {
    ASSERT_TRUE(machine(i).concluded()) << "n" << i << "\n" << launchers_[i].log;
    EXPECT_FALSE(outcome(i).staged);
    EXPECT_EQ(outcome(i).node, node) << outcome(i).reason;
    EXPECT_NE(outcome(i).reason.find(reason), std::string::npos) << outcome(i).reason;
  }

  double now_ = 1000;
  std::vector<Node> nodes_;
  Coordinator::Setup setup_;
  std::vector<Launcher> launchers_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> links_;
  std::set<std::uint32_t> mute_;  // stopped without being dead
};

class Tree012 : public Group {  // 0 → 1 → 2
 protected:
  Tree012() {
    setup_.star_limit = 1;
    setup_.fan_out = 1;
    make(3);
  }
};

TEST_F(Group, OneNodeNeedsNobody) {
  make(1);
  join(0);
  engine_ends(0);
  EXPECT_TRUE(outcome(0).staged);
  EXPECT_TRUE(launchers_[0].ended);
  EXPECT_EQ(launchers_[0].records.size(), 1U);
}

TEST_F(Group, RunsFollowOneAnotherOnceAllHaveEnded) {
  make(3, 2);
  join_all();
  engine_ends(0);
  engine_ends(2);
  EXPECT_EQ(launchers_[2].started, (std::vector<std::uint32_t>{0}));
  engine_ends(1);
  EXPECT_EQ(launchers_[2].started, (std::vector<std::uint32_t>{0, 1}));
  for (const std::uint32_t i : {0, 1, 2}) engine_ends(i);
  pass(2);
  for (const std::uint32_t i : {0, 1, 2}) {
    EXPECT_TRUE(outcome(i).staged);
    EXPECT_TRUE(launchers_[i].ended);
    EXPECT_EQ(launchers_[i].records.size(), 1U);
  }
}

TEST_F(Group, NobodyStartsBeforeAllHaveCome) {
  make(3);
  join(0);
  join(2);
  EXPECT_TRUE(launchers_[2].started.empty());
  join(1);
  EXPECT_EQ(launchers_[2].started.size(), 1U);
}

TEST_F(Group, WhoNeverCameIsNamed) {
  make(4);
  for (const std::uint32_t i : {0, 1, 3}) join(i);
  machine(0).child_refused(2, "wrong key");
  pass(61);
  for (const std::uint32_t i : {0, 1, 3}) {
    expect_failed(i, "", "no launcher came within 60 s from n2 (wrong key)");
  }
}

TEST_F(Group, WhoComesTooLateIsToldWhy) {
  make(3);
  join(0);
  join(1);
  pass(60.3);
  EXPECT_TRUE(machine(0).concluded());
  join(2);
  expect_failed(2, "", "no launcher came within 60 s from n2");
}

TEST_F(Group, ACauseOutranksWhatIsReportedBeforeIt) {
  make(3);
  join_all();
  machine(1).aborted(now_, 1, "", "");
  settle();
  pass(0.1);
  StatusEvent failed;
  failed.word = StatusEvent::Word::kFailed;
  failed.code = ExitCode::kDestination;
  failed.text = "disk full";
  machine(2).engine_said(now_, failed);
  settle();
  pass(0.2);
  for (const std::uint32_t i : {0, 1, 2}) expect_failed(i, "n2", "disk full");
}

TEST_F(Group, TheRecordWaitsForTheEngineAndIsWrittenOnce) {
  make(2);
  join_all();
  machine(1).cancel(now_);
  settle();
  pass(0.3);
  expect_failed(0, "", "cancelled");
  EXPECT_TRUE(launchers_[0].told_to_end);
  EXPECT_TRUE(launchers_[0].records.empty());
  engines_die();
  EXPECT_EQ(launchers_[0].records.size(), 1U);
  pass(20);
  EXPECT_EQ(launchers_[0].records.size(), 1U);
  EXPECT_TRUE(launchers_[0].ended);
}

TEST_F(Group, AnEngineThatCannotBeKilledIsGivenUp) {
  make(1);
  join(0);
  machine(0).cancel(now_);
  settle();
  pass(0.25 + 2 + 4.9);
  EXPECT_FALSE(launchers_[0].ended);
  pass(0.2);
  EXPECT_TRUE(launchers_[0].ended);
  EXPECT_EQ(launchers_[0].records.size(), 1U);
}

// Found by the simulator, seed 5950: it killed and gave up at one and the same moment.
TEST_F(Group, ALauncherThatWasStoppedMeanwhileStillWaitsForWhatItKills) {
  make(1);
  join(0);
  machine(0).cancel(now_);
  settle();
  pass(0.25);
  now_ += 20;  // nothing of it ran
  machine(0).tick(now_);
  settle();
  EXPECT_TRUE(launchers_[0].records.empty());
  machine(0).engine_ended(now_, {0, 9, ""});
  settle();
  EXPECT_TRUE(launchers_[0].ended);
}

TEST_F(Group, ALauncherThatStopsWithoutDyingIsNoticed) {
  make(3);
  join_all();
  mute_ = {1};
  pass(8);
  expect_failed(0, "n1", "silent for 5 s");
  expect_failed(2, "n1", "silent for 5 s");
}

TEST_F(Group, CutOffFromIndex0AllSayTheSame) {
  make(3);
  join_all();
  machine(2).aborted(now_, 1, "", "");
  settle();
  kill(0);
  expect_failed(1, "n0", "the launcher is gone (connection lost)");
  expect_failed(2, "n0", "the launcher is gone (connection lost)");
}

TEST_F(Group, WhoIsLostAfterItsWorkWasDoneIsLost) {
  make(3);
  join_all();
  engine_ends(1);
  kill(1);
  engine_ends(0);
  engine_ends(2);
  EXPECT_FALSE(machine(0).concluded());
  pass(0.3);
  expect_failed(0, "n1", "the launcher is gone");
  expect_failed(2, "n1", "the launcher is gone");
}

TEST_F(Group, ADeadlineCoversAll) {
  setup_.deadline_s = 100;
  make(2);
  join_all();
  engine_ends(1);
  StatusEvent alive;
  alive.word = StatusEvent::Word::kConnected;
  for (int i = 0; i < 12; ++i) {
    pass(9);
    if (!machine(0).concluded()) machine(0).engine_said(now_, alive);
    settle();
  }
  expect_failed(0, "", "longer than its deadline of 100 s");
  expect_failed(1, "", "longer than its deadline of 100 s");
}

TEST_F(Group, CancelledBeforeTheParentCame) {
  make(2);
  join(1);
  machine(1).cancel(now_);
  settle();
  pass(1);
  EXPECT_FALSE(machine(1).concluded());
  pass(1.1);
  expect_failed(1, "", "cancelled");
}

TEST_F(Group, WhatFailedBeforeTheParentCameIsToldToIt) {
  make(2);
  join(1);
  machine(1).not_prepared(now_, {ExitCode::kDestination, "no room"});
  settle();
  pass(30);
  EXPECT_FALSE(machine(1).concluded());
  join(0);
  pass(0.3);
  expect_failed(0, "n1", "no room");
  expect_failed(1, "n1", "no room");
}

TEST_F(Group, AFenceComesBackWholeAndInRankOrder) {
  make(3);
  join_all();
  for (const std::uint32_t i : {2, 0, 1}) {
    machine(i).entered_fence(now_, 40 + i, {}, std::string(1, static_cast<char>('a' + i)));
    settle();
  }
  for (const std::uint32_t i : {0, 1, 2}) EXPECT_EQ(launchers_[i].fences[40 + i], "abc");
}

TEST_F(Tree012, OneRankAsksAnotherForItsCard) {
  join_all();
  machine(2).asked_modex(now_, 5, 0);
  settle();
  EXPECT_EQ(launchers_[2].modex, "card of 0");
}

TEST_F(Group, WhoSpeaksOutOfTurnIsLost) {
  const std::vector<Frame> nonsense = {{MessageType::kStart, encode_number(0)},
                                       {MessageType::kOutcome, encode(FailureText{})},
                                       {MessageType::kAgreed, ""},
                                       {MessageType::kDone, encode_number(7)},
                                       {MessageType::kDone, "x"},
                                       {MessageType::kMet, encode_number(2)},
                                       {MessageType::kFailed, "x"},
                                       {MessageType::kHello, ""}};
  make(3);
  for (const Frame& frame : nonsense) {
    links_.clear();
    join_all();
    machine(0).received(now_, 1, frame);
    settle();
    pass(0.3);
    expect_failed(0, "n1", "not the launchers' protocol");
    expect_failed(2, "n1", "not the launchers' protocol");
  }
}

TEST_F(Group, AgreedIsBelievedOnlyOnceTheOwnPartIsDone) {
  make(2);
  join_all();
  machine(1).received(now_, 0, {MessageType::kAgreed, ""});
  expect_failed(1, "n0", "not the launchers' protocol");
}

// --- Who leaves and comes again while the rendezvous waits.

TEST_F(Group, AChildThatWasRestartedIsTakenInAgain) {
  setup_.may_return = true;
  make(3);
  join(0);
  join(1);
  kill(1);
  join(2);
  EXPECT_TRUE(launchers_[2].started.empty());
  join(1);
  EXPECT_EQ(launchers_[2].started.size(), 1U);
}

TEST_F(Group, ARootThatWasRestartedIsFoundAgain) {
  setup_.may_return = true;
  make(3);
  join(0);
  join(1);
  kill(0);
  EXPECT_FALSE(machine(1).concluded());
  join(0);
  join(2);
  EXPECT_EQ(launchers_[1].started.size(), 1U);
}

TEST_F(Tree012, TheRootHearsThatAGrandchildLeft) {
  setup_.may_return = true;
  join(2);
  join(1);
  kill(2);
  join(0);
  EXPECT_TRUE(launchers_[0].started.empty());
  join(2);
  EXPECT_EQ(launchers_[0].started.size(), 1U);
}

TEST_F(Tree012, ARestartedInnerLauncherBringsItsOwnAgain) {
  setup_.may_return = true;
  join(2);
  join(1);
  kill(1);
  join(0);
  EXPECT_TRUE(launchers_[0].started.empty());
  join(1);
  EXPECT_EQ(launchers_[0].started.size(), 1U);
  EXPECT_EQ(launchers_[2].started.size(), 1U);
}

TEST_F(Tree012, ANodeThatLeftIsMissing) {
  setup_.may_return = true;
  nodes_.push_back({"n3", ""});
  launchers_.resize(4);
  join(0);
  join(1);
  join(2);
  kill(2);
  pass(61);
  expect_failed(0, "", "no launcher came within 60 s from n2");
  expect_failed(1, "", "no launcher came within 60 s from n2");
}

TEST_F(Group, OnceTheEnginesStartALostNeighbourIsLost) {
  setup_.may_return = true;
  make(2);
  join_all();
  kill(1);
  EXPECT_FALSE(machine(0).admits(1)) << "who comes for its place now is of another attempt";
  pass(0.3);
  expect_failed(0, "n1", "the launcher is gone");
}

TEST_F(Group, APrologNeverComesAgain) {
  make(3);
  join(0);
  join(1);
  kill(1);
  EXPECT_FALSE(machine(0).admits(1));
  pass(0.3);
  expect_failed(0, "n1", "the launcher is gone");
}

TEST_F(Group, AnIndexIsLetInOnce) {
  make(3);
  join(0);
  EXPECT_TRUE(machine(0).admits(1));
  EXPECT_FALSE(machine(0).admits(0));
  EXPECT_FALSE(machine(0).admits(3));
  join(1);
  EXPECT_FALSE(machine(0).admits(1));
}

}  // namespace
}  // namespace stage_model::launch
