// Who begins which request: threads that the test plays itself, without a network.
#include "engine/http/dispatcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/auth/anonymous.h"

namespace stage_model::http {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Hub : Dialect {
  bool redirects() const override { return true; }
};

Outcome outcome(Kind kind) {
  Outcome out;
  out.kind = kind;
  return out;
}

class HttpDispatcher : public testing::Test {
 protected:
  HttpDispatcher() {
    options_.concurrency = 6;
    options_.backoff_first_s = 0;
  }

  void start(unsigned workers) {
    shared_.emplace(options_, Environment(), std::make_shared<auth::Anonymous>(), dialect_);
    dispatcher_.emplace(*shared_);
    woken_.assign(workers, 0);
    for (unsigned i = 0; i < workers; ++i) dispatcher_->enlist([this, i] { ++woken_[i]; });
  }

  JobPtr job(const std::string& path) {
    auto out = std::make_unique<Job>();
    out->request.origin = "https://store";
    out->request.path = path;
    out->route.home = location_of(out->request);
    out->what = path;
    out->done = [this, path](const Result<Response>& result) {
      ended_.push_back(path + (result ? "" : ": " + result.error().message));
    };
    return out;
  }
  void add(const std::string& path) { dispatcher_->add(job(path)); }
  void add(unsigned count) {
    for (unsigned i = 0; i < count; ++i) add("/x");
  }

  // How many each worker has now, by taking what there is.
  std::vector<std::size_t> loads() {
    held_.resize(woken_.size());
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < held_.size(); ++i) {
      for (JobPtr& job : dispatcher_->take(i)) held_[i].push_back(std::move(job));
      out.push_back(held_[i].size());
    }
    return out;
  }
  void end(std::size_t worker, Kind kind) {
    JobPtr job = std::move(held_[worker].back());
    held_[worker].pop_back();
    dispatcher_->ended(std::move(job), outcome(kind));
  }

  Options options_;
  Hub dialect_;
  std::optional<Shared> shared_;
  std::optional<Dispatcher> dispatcher_;
  std::vector<unsigned> woken_;
  std::vector<std::vector<JobPtr>> held_;
  std::vector<std::string> ended_;
};

TEST_F(HttpDispatcher, WhoHasLeastToDoIsWokenAndGetsTheNext) {
  start(3);
  for (const char* path : {"/a", "/b", "/c", "/d", "/e", "/f", "/g"}) add(path);
  EXPECT_THAT(woken_, ElementsAre(2, 2, 2));
  EXPECT_THAT(loads(), ElementsAre(2, 2, 2));  // together what one thread may have; /g waits
  end(1, Kind::kOk);
  EXPECT_THAT(woken_, ElementsAre(2, 3, 2));
  EXPECT_THAT(loads(), ElementsAre(2, 2, 2));
  EXPECT_EQ(held_[1].back()->what, "/g");
  EXPECT_THAT(ended_, ElementsAre("/e"));
  end(0, Kind::kOk);
  end(0, Kind::kOk);
  end(2, Kind::kOk);
  add("/h");
  EXPECT_THAT(loads(), ElementsAre(1, 2, 1));
}

TEST_F(HttpDispatcher, AThrottledRequestOfOneThreadHoldsAllBack) {
  start(2);
  for (const char* path : {"/a", "/b", "/c", "/d", "/e", "/f", "/g"}) add(path);
  EXPECT_THAT(loads(), ElementsAre(3, 3));
  end(0, Kind::kThrottled);
  EXPECT_THAT(loads(), ElementsAre(2, 3));  // three may be in flight from now on
  end(1, Kind::kOk);
  end(1, Kind::kOk);
  EXPECT_THAT(loads(), ElementsAre(2, 1));
  end(0, Kind::kOk);
  EXPECT_THAT(loads(), ElementsAre(2, 1));
  EXPECT_EQ(dispatcher_->counters().retries_throttle, 1U);
}

TEST_F(HttpDispatcher, OneFindsTheWayOthersAreWokenThen) {
  start(2);
  add(2);
  EXPECT_THAT(loads(), ElementsAre(1, 0));
  Job& first = *held_[0].back();
  ASSERT_TRUE(first.route.unsettled());
  dispatcher_->found(first);
  EXPECT_FALSE(first.route.unsettled());
  EXPECT_EQ(woken_[1], 1U);
  EXPECT_THAT(loads(), ElementsAre(1, 1));
}

TEST_F(HttpDispatcher, WhoseWayIsLostIsFollowedByTheNext) {
  start(2);
  add(2);
  EXPECT_THAT(loads(), ElementsAre(1, 0));
  end(0, Kind::kTls);
  EXPECT_THAT(loads(), ElementsAre(1, 0));
  EXPECT_TRUE(held_[0].back()->route.unsettled());
}

TEST_F(HttpDispatcher, AnAttemptForLaterIsWaitedFor) {
  start(1);
  EXPECT_GT(dispatcher_->wait(), 1e9);
  add(1);
  EXPECT_THAT(loads(), ElementsAre(1));
  dispatcher_->put_back(std::move(held_[0].back()), now() + 1000);
  held_[0].clear();
  EXPECT_THAT(loads(), ElementsAre(0));
  EXPECT_GT(dispatcher_->wait(), 900);
  EXPECT_LE(dispatcher_->wait(), 1000);
  add("/other");
  EXPECT_THAT(loads(), ElementsAre(1));
  dispatcher_->put_back(std::move(held_[0].back()), now());
  held_[0].clear();
  EXPECT_THAT(loads(), ElementsAre(1));
}

// Nobody has the clock in view for what was added in a pause.
TEST_F(HttpDispatcher, WhatMayNotBeginYetStillWakesSomebody) {
  options_.backoff_first_s = options_.backoff_max_s = 1000;
  start(2);
  add(1);
  EXPECT_THAT(loads(), ElementsAre(1, 0));
  end(0, Kind::kThrottled);
  EXPECT_THAT(woken_, ElementsAre(1, 0));
  add("/other");
  EXPECT_THAT(woken_, ElementsAre(2, 0));
  EXPECT_THAT(loads(), ElementsAre(0, 0));
  EXPECT_GT(dispatcher_->wait(), 400);
  EXPECT_LE(dispatcher_->wait(), 1000);
}

TEST_F(HttpDispatcher, TheDeadlineIsInViewWhileSomethingWaits) {
  options_.concurrency = 1;
  options_.deadline_s = 1000;
  start(1);
  EXPECT_GT(dispatcher_->wait(), 1e9);
  add(1);
  EXPECT_THAT(loads(), ElementsAre(1));
  EXPECT_GT(dispatcher_->wait(), 1e9);  // the worker minds its own
  add("/other");
  EXPECT_LE(dispatcher_->wait(), 1000);
}

TEST_F(HttpDispatcher, AfterTheStopNothingIsGivenOutAndNobodyWoken) {
  start(2);
  for (const char* path : {"/a", "/b", "/c"}) add(path);
  std::vector<JobPtr> begun = dispatcher_->take(1);
  ASSERT_EQ(begun.size(), 1U);
  dispatcher_->stop();
  EXPECT_TRUE(dispatcher_->stopped());
  EXPECT_THAT(woken_, ElementsAre(3, 2));  // each once more, to see it
  add("/d");
  dispatcher_->ended(std::move(begun[0]), outcome(Kind::kReset));
  EXPECT_THAT(woken_, ElementsAre(3, 2));
  EXPECT_THAT(loads(), ElementsAre(0, 0));
  EXPECT_TRUE(dispatcher_->end_waiting("stopped"));
  EXPECT_FALSE(dispatcher_->end_waiting("stopped"));
  EXPECT_THAT(ended_, testing::UnorderedElementsAre(HasSubstr("/a: "), HasSubstr("/b: "),
                                                    HasSubstr("/c: "), HasSubstr("/d: ")));
}

TEST_F(HttpDispatcher, ACallbackMayAdd) {
  start(1);
  JobPtr first = job("/a");
  first->done = [this](const Result<Response>&) { add("/b"); };
  dispatcher_->add(std::move(first));
  EXPECT_THAT(loads(), ElementsAre(1));
  end(0, Kind::kOk);
  EXPECT_THAT(loads(), ElementsAre(1));
  EXPECT_EQ(held_[0].back()->what, "/b");
}

}  // namespace
}  // namespace stage_model::http
