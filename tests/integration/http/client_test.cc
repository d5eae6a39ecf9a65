// The client against a server that misbehaves in every way that was seen in the field (cases H2,
// H3, I1, T1): exact bytes or a clear error, never a hang.
#include "engine/http/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <string>
#include <vector>

#include "engine/auth/anonymous.h"
#include "tests/support/child.h"

namespace stage_model::http {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kMiB = 1 << 20;

// One server for all tests: keys keep them apart.
test::RudeServer& server() {
  static test::RudeServer instance;
  return instance;
}

class HttpClient : public testing::Test {
 protected:
  HttpClient() {
    options_.backoff_first_s = 0.01;
    options_.backoff_max_s = 0.05;
    options_.low_speed_window_s = 0.5;
    options_.connect_timeout_s = 5;
    options_.deadline_s = 60;  // a hang ends as a failure
    environment_.no_proxy = "*";
  }

  void make() {
    client_ = std::make_unique<Client>(options_, environment_, std::make_shared<auth::Anonymous>(),
                                       dialect_);
  }

  // One name per test and object.
  static std::string key() {
    static std::atomic<int> number{0};
    return "k" + std::to_string(++number);
  }

  struct Answer {
    Status status;
    std::vector<std::byte> bytes;
    std::string key;
  };

  // GETs a range of an object of `size` bytes under `rules`.
  Answer get(const std::string& rules, std::uint64_t size, std::uint64_t offset,
             std::uint64_t length) {
    if (!client_) make();
    Answer answer;
    answer.key = key();
    answer.bytes.resize(length);
    std::promise<Status> done;
    RangeGet get;
    get.request.origin = server().origin();
    get.request.path = "/object/" + answer.key + "/" + std::to_string(size) + "/" + rules;
    get.what = "object 'x'";
    get.offset = offset;
    get.length = length;
    get.total = size;
    get.etag = "\"v1\"";
    get.target = answer.bytes.data();
    get.done = [&done](Status status) { done.set_value(std::move(status)); };
    client_->start(std::move(get));
    answer.status = done.get_future().get();
    return answer;
  }

  std::vector<std::string> log(const std::string& key) {
    http::Request request;
    request.origin = server().origin();
    request.path = "/log/" + key;
    auto response = client_->perform(request, "log", kMiB);
    std::vector<std::string> lines;
    if (!response) return lines;
    std::string text = response->body + "\n";
    for (std::size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
      if (end > 0) lines.push_back(text.substr(0, end));
    }
    return lines;
  }

  static bool exact(const Answer& answer, std::uint64_t offset) {
    for (std::size_t i = 0; i < answer.bytes.size(); ++i) {
      if (answer.bytes[i] != std::byte((offset + i) % 251)) return false;
    }
    return true;
  }

  void expect_good(const Answer& answer, std::uint64_t offset) {
    ASSERT_TRUE(answer.status) << answer.status.error().message;
    EXPECT_TRUE(exact(answer, offset));
  }

  void expect_error(const Answer& answer, const std::string& part,
                    ExitCode code = ExitCode::kTransfer) {
    ASSERT_FALSE(answer.status);
    EXPECT_THAT(answer.status.error().message, HasSubstr(part));
    EXPECT_EQ(answer.status.error().code, code) << answer.status.error().message;
  }

  bool untouched(const Answer& answer) {
    return std::all_of(answer.bytes.begin(), answer.bytes.end(),
                       [](std::byte b) { return b == std::byte(0); });
  }

  Options options_;
  Environment environment_;
  Dialect dialect_;
  std::unique_ptr<Client> client_;
};

std::string connection_of(const std::string& line) { return line.substr(0, line.find(' ')); }

TEST_F(HttpClient, GetsARangeAndReusesItsConnection) {
  const Answer first = get("ok", 10 * kMiB, 1000, 3 * kMiB);
  expect_good(first, 1000);
  const auto one = log(first.key);
  ASSERT_EQ(one.size(), 1U);
  EXPECT_THAT(one[0], HasSubstr("bytes=1000-3146727 \"v1\" no"));
  const Answer second = get("ok", 10 * kMiB, 5, 17);
  expect_good(second, 5);
  EXPECT_EQ(connection_of(log(second.key)[0]), connection_of(one[0]));
}

TEST_F(HttpClient, AcceptsAChunkedBody) { expect_good(get("chunked", kMiB, 7, 300000), 7); }

TEST_F(HttpClient, TakesStoredBytesWhateverTheirEncoding) {
  expect_good(get("gzip", kMiB, 0, kMiB), 0);
}

// H2: short bodies of every kind are resumed, on another connection.
class ShortBody : public HttpClient, public testing::WithParamInterface<const char*> {};

TEST_P(ShortBody, IsResumedWhereItBrokeOnAFreshConnection) {
  const Answer answer = get(std::string(GetParam()) + "*1", 4 * kMiB, 100, 2 * kMiB);
  expect_good(answer, 100);
  const auto lines = log(answer.key);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_NE(connection_of(lines[0]), connection_of(lines[1]));
  const Counters counters = client_->counters();
  EXPECT_EQ(counters.retries_short + counters.retries_reset, 1U);
  // No connection that broke serves anybody else.
  const Answer next = get("ok", 100, 0, 100);
  expect_good(next, 0);
  EXPECT_NE(connection_of(log(next.key)[0]), connection_of(lines[0]));
}

TEST_P(ShortBody, FailsWhenItNeverGetsBetter) {
  options_.max_retries = 3;
  const Answer answer = get(GetParam(), 1000, 0, 500);
  ASSERT_FALSE(answer.status);
  EXPECT_EQ(answer.status.error().code, ExitCode::kTransfer);
  EXPECT_THAT(answer.status.error().message, HasSubstr("object 'x' after "));
}

INSTANTIATE_TEST_SUITE_P(Kinds, ShortBody,
                         testing::Values("short-fin", "short-rst", "chunk-cut", "zero", "reset"),
                         [](const auto& info) {
                           std::string name = info.param;
                           name.erase(std::remove(name.begin(), name.end(), '-'), name.end());
                           return name;
                         });

TEST_F(HttpClient, ResumesAtTheByteWhereItBroke) {
  const Answer answer = get("short-fin*1", 4 * kMiB, 100, 2 * kMiB);
  expect_good(answer, 100);
  // All but the last byte had come: exactly that one is asked for again.
  EXPECT_THAT(log(answer.key)[1], HasSubstr("bytes=2097251-2097251"));
}

TEST_F(HttpClient, AttemptsThatMakeProgressDoNotUseUpTheBudget) {
  options_.max_retries = 1;
  const Answer answer = get("cut:100000", 2 * kMiB, 0, 2 * kMiB);
  expect_good(answer, 0);
  EXPECT_GT(log(answer.key).size(), 20U);
}

// All bytes of the range, then no end of the body: nothing is left that could be asked for.
class EndlessBody : public HttpClient, public testing::WithParamInterface<const char*> {};

TEST_P(EndlessBody, IsDoneOnceEveryByteIsThere) {
  const Answer answer = get(GetParam(), 4 * kMiB, 100, 2 * kMiB);
  expect_good(answer, 100);
  EXPECT_EQ(client_->counters().bytes, 2 * kMiB);  // each byte once
  // Its connection serves nobody else.
  const Answer next = get("ok", 100, 0, 100);
  expect_good(next, 0);
  EXPECT_NE(connection_of(log(next.key)[0]), connection_of(log(answer.key).back()));
}

TEST_P(EndlessBody, IsDoneAlsoByTheAttemptThatBringsTheRest) {
  const Answer answer = get(std::string("cut:100000*1/") + GetParam(), 4 * kMiB, 0, 4 * kMiB);
  expect_good(answer, 0);
  EXPECT_GE(log(answer.key).size(), 2U);
}

INSTANTIATE_TEST_SUITE_P(Kinds, EndlessBody,
                         testing::Values("chunked-fin", "chunked-rst", "chunked-hold"),
                         [](const auto& info) {
                           std::string name = info.param;
                           name.erase(std::remove(name.begin(), name.end(), '-'), name.end());
                           return name;
                         });

TEST_F(HttpClient, MoreBytesThanAskedForAreNotBelieved) {
  options_.max_retries = 2;
  expect_error(get("long", 5000, 100, 1000), "more bytes than the range has");
  expect_good(get("long*1", 5000, 100, 1000), 100);
}

// A range that is not exactly the one asked for is never written.
class WrongRange : public HttpClient, public testing::WithParamInterface<const char*> {};

TEST_P(WrongRange, IsRefusedBeforeAByteIsWritten) {
  const Answer answer = get(GetParam(), 50000, 100, 1000);
  ASSERT_FALSE(answer.status);
  EXPECT_EQ(answer.status.error().code, ExitCode::kTransfer);
  EXPECT_TRUE(untouched(answer));
}

INSTANTIATE_TEST_SUITE_P(Kinds, WrongRange,
                         testing::Values("shifted", "moved", "grown", "no-content-range", "whole",
                                         "other-etag"),
                         [](const auto& info) {
                           std::string name = info.param;
                           name.erase(std::remove(name.begin(), name.end(), '-'), name.end());
                           return name;
                         });

TEST_F(HttpClient, TheWholeObjectMayComeAs200) { expect_good(get("whole", 50000, 0, 50000), 0); }

// H3
TEST_F(HttpClient, SilenceIsRetried) {
  const Answer answer = get("silent*1", kMiB, 0, kMiB);
  expect_good(answer, 0);
  EXPECT_EQ(client_->counters().retries_stall, 1U);
}

TEST_F(HttpClient, SilenceForEverFails) {
  options_.max_retries = 2;
  expect_error(get("silent", kMiB, 0, kMiB), "no answer within 0.5 s");
}

TEST_F(HttpClient, AStopInTheMiddleIsResumed) {
  const Answer answer = get("stop:500000*1", 2 * kMiB, 0, 2 * kMiB);
  expect_good(answer, 0);
  EXPECT_THAT(log(answer.key)[1], HasSubstr("bytes=500000-"));
}

TEST_F(HttpClient, ATrickleIsNotATransfer) {
  options_.max_retries = 1;
  expect_error(get("trickle:0.1", kMiB, 0, kMiB), "fewer than 65536 bytes in 0.5 s");
}

TEST_F(HttpClient, SlowButSteadyPasses) {
  const Answer answer = get("slow:3000000", 6000000, 0, 6000000);
  expect_good(answer, 0);
  EXPECT_EQ(client_->counters().retries_stall, 0U);
}

TEST_F(HttpClient, OurOwnRateLimitIsNoStall) {
  options_.max_bandwidth = 1e6;
  options_.low_speed_bytes = 8 * kMiB;  // more than the limit lets through in the window
  const Answer answer = get("ok", 2 * kMiB, 0, 2 * kMiB);
  expect_good(answer, 0);
}

// A healthy link of 3 MB/s with our limit below it, for several windows: no stall, each byte once.
TEST_F(HttpClient, ASlowLinkUnderOurOwnRateLimitIsNoStall) {
  options_.max_bandwidth = 1.5e6;
  options_.low_speed_window_s = 1;
  options_.low_speed_bytes = 500000;
  const Answer answer = get("slow:3000000", 6000000, 0, 6000000);
  expect_good(answer, 0);
  EXPECT_EQ(client_->counters().retries_stall, 0U);
  EXPECT_EQ(client_->counters().bytes, 6000000U);
}

TEST_F(HttpClient, TheDeadlineEndsEverything) {
  options_.deadline_s = 0.4;
  options_.low_speed_window_s = 30;
  expect_error(get("silent", kMiB, 0, kMiB), "not done within the deadline", ExitCode::kStopped);
}

TEST_F(HttpClient, DestructionEndsWhatIsOutstanding) {
  options_.low_speed_window_s = 30;
  make();
  std::vector<std::byte> memory(100);
  std::promise<Status> done;
  RangeGet get;
  get.request.origin = server().origin();
  get.request.path = "/object/" + key() + "/100/silent";
  get.what = "object 'x'";
  get.length = get.total = 100;
  get.target = memory.data();
  get.done = [&done](Status status) { done.set_value(std::move(status)); };
  client_->start(std::move(get));
  client_.reset();
  const Status status = done.get_future().get();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ExitCode::kStopped);
}

// T1
class Throttled : public HttpClient, public testing::WithParamInterface<const char*> {};

TEST_P(Throttled, IsWaitedOutAndCounted) {
  options_.max_retries = 1;  // throttling has a budget of its own
  expect_good(get(std::string("status:") + GetParam() + "*3", kMiB, 0, kMiB), 0);
  EXPECT_EQ(client_->counters().retries_throttle, 3U);
}

INSTANTIATE_TEST_SUITE_P(Forms, Throttled, testing::Values("503", "429:0", "503:1", "503:date"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), ':', '_');
                           return name;
                         });

TEST_F(HttpClient, ThrottlingForLongerThanItsBudgetFails) {
  options_.throttle_budget_s = 0.3;
  expect_error(get("status:503", kMiB, 0, kMiB), "throttles (HTTP 503)");
}

TEST_F(HttpClient, ServerErrorsAreRetriedThenNamed) {
  options_.max_retries = 2;
  expect_good(get("status:500*2", 100, 0, 100), 0);
  EXPECT_EQ(client_->counters().retries_server, 2U);
  expect_error(get("status:502", 100, 0, 100), "HTTP 502");
}

// I1
TEST_F(HttpClient, AnotherVersionIsSaidToBeOne) {
  const Answer answer = get("status:412", 100, 0, 100);
  expect_error(answer, "object 'x': it changed during the download");
  EXPECT_EQ(log(answer.key).size(), 1U);
}

TEST_F(HttpClient, RefusalsAreNotRetried) {
  const Answer answer = get("status:403", 100, 0, 100);
  expect_error(answer, "HTTP 403", ExitCode::kSource);
  EXPECT_EQ(log(answer.key).size(), 1U);
}

TEST_F(HttpClient, RedirectsAreNotFollowedAndLeakNothing) {
  const Answer answer = get("redirect:http%3A%2F%2Fother.example%2F%3Fsig%3DSECRET", 100, 0, 100);
  expect_error(answer, "redirects (HTTP 302)", ExitCode::kSource);
  EXPECT_THAT(answer.status.error().message, testing::Not(HasSubstr("SECRET")));
}

TEST_F(HttpClient, NobodyListeningFailsSoon) {
  make();
  http::Request request;
  request.origin = "http://127.0.0.1:1";
  request.path = "/";
  const auto response = client_->perform(request, "list", 100);
  ASSERT_FALSE(response);
  EXPECT_THAT(response.error().message, HasSubstr("list after 5 attempts: no lasting connection to "
                                                  "127.0.0.1:1"));
}

TEST_F(HttpClient, AnUnknownNameFailsSoon) {
  make();
  http::Request request;
  request.origin = "http://no-such-account.invalid";
  request.path = "/";
  const auto response = client_->perform(request, "list", 100);
  ASSERT_FALSE(response);
  EXPECT_THAT(response.error().message, HasSubstr("no-such-account.invalid cannot be resolved"));
}

TEST_F(HttpClient, AProxyFromTheVariablesIsUsedAndNamed) {
  environment_.no_proxy = "";
  environment_.http_proxy = "http://user:SECRET@127.0.0.1:1";
  make();
  http::Request request;
  request.origin = "http://storage.invalid";
  request.path = "/";
  const auto response = client_->perform(request, "list", 100);
  ASSERT_FALSE(response);  // had it gone directly, the name would be the fault
  EXPECT_THAT(response.error().message, HasSubstr("127.0.0.1"));
  EXPECT_THAT(response.error().message, testing::Not(HasSubstr("SECRET")));
}

// With one thread and with several.
class HttpThreads : public HttpClient, public testing::WithParamInterface<unsigned> {
 protected:
  HttpThreads() { options_.threads = GetParam(); }

  // `count` objects of `length` bytes, each under one of the rules.
  void start(const std::vector<std::string>& rules, std::size_t count, std::uint64_t length) {
    make();
    left_ = count;
    all_.assign(count, std::vector<std::byte>(length));
    for (std::size_t i = 0; i < count; ++i) {
      RangeGet get;
      get.request.origin = server().origin();
      get.request.path =
          "/object/" + key() + "/" + std::to_string(length) + "/" + rules[i % rules.size()];
      get.what = "object 'x'";
      get.length = get.total = length;
      get.target = all_[i].data();
      get.done = [this](const Status& status) {
        if (status) ++good_;
        if (!status && status.error().code == ExitCode::kStopped) ++stopped_;
        if (--left_ == 0) end_.set_value();
      };
      client_->start(std::move(get));
    }
  }

  std::vector<std::vector<std::byte>> all_;
  std::atomic<std::size_t> left_{0}, good_{0}, stopped_{0};
  std::promise<void> end_;
};

TEST_P(HttpThreads, EachByteComesWhateverGoesWrong) {
  options_.concurrency = 6;
  options_.max_bandwidth = 40.0 * kMiB;
  start({"ok", "cut:1000*1", "status:503:0*2", "status:500*1", "stop:70000*1"}, 60, 300'000);
  end_.get_future().wait();
  const Counters counters = client_->counters();
  client_.reset();  // nothing is written after this
  EXPECT_EQ(good_, 60U);
  EXPECT_GE(counters.requests, 60U + 12 * 5);
  EXPECT_GE(counters.retries_throttle, 24U);
  EXPECT_GE(counters.retries_server, 12U);
  EXPECT_GE(counters.retries_reset, 12U);
  EXPECT_GE(counters.retries_stall, 12U);
  for (const auto& bytes : all_) {
    for (std::size_t i = 0; i < bytes.size(); ++i) ASSERT_EQ(bytes[i], std::byte(i % 251)) << i;
  }
}

TEST_P(HttpThreads, DestructionEndsWhatIsUnderWayAndWhatWaits) {
  start({"stop:10"}, 40, 5000);
  client_.reset();
  EXPECT_EQ(left_, 0U);
  EXPECT_EQ(stopped_, 40U);
}

TEST_P(HttpThreads, TheDeadlineEndsWhatIsUnderWayAndWhatWaits) {
  options_.deadline_s = 0.4;
  options_.low_speed_window_s = 30;
  start({"stop:10"}, 40, 5000);
  end_.get_future().wait();
  EXPECT_EQ(stopped_, 40U);
}

INSTANTIATE_TEST_SUITE_P(Threads, HttpThreads, testing::Values(1U, 4U));

// A2: what the proxy itself answers is named as the proxy's.
TEST_F(HttpClient, AProxyThatRefusesIsNamed) {
  environment_.no_proxy = "";
  std::string proxy = server().origin();
  const std::string host = proxy.substr(7);
  proxy.insert(7, "user:SECRET@");
  environment_.http_proxy = environment_.https_proxy = proxy;
  const auto error = [this](const std::string& origin) {
    make();
    http::Request request;
    request.origin = origin;
    request.path = "/x";
    const auto response = client_->perform(request, "list", 100);
    EXPECT_FALSE(response);
    const std::string message = response ? "no error" : response.error().message;
    EXPECT_THAT(message, testing::Not(HasSubstr("SECRET")));
    return message;
  };
  const std::string refuses = ": the proxy " + host + " does not let us through: ";
  for (const char* scheme : {"http", "https"}) {
    EXPECT_THAT(error(std::string(scheme) + "://refuse-407.example"),
                HasSubstr("list" + refuses + "it wants another user and password (HTTP 407)"));
  }
  EXPECT_THAT(error("https://refuse-403.example"),
              HasSubstr("list" + refuses + "it answers HTTP 403"));
  EXPECT_THAT(error("https://refuse-502.example"),
              HasSubstr("list after 5 attempts" + refuses + "it answers HTTP 502"));
  options_.max_retries = 0;
  EXPECT_THAT(error("http://refuse-502.example"),
              HasSubstr("by proxy " + host + " answers HTTP 502: the proxy or the service is"));
}

// A2: hosts and their parents, addresses and networks.
TEST_F(HttpClient, NoProxyIsHonoured) {
  environment_.http_proxy = server().origin();
  options_.max_retries = 0;
  const std::string port = server().origin().substr(server().origin().rfind(':'));
  const auto direct = [&](const std::string& no_proxy, const std::string& host) {
    environment_.no_proxy = no_proxy;
    make();
    http::Request request;
    request.origin = "http://" + host + port;
    request.path = "/log/none";
    return client_->perform(request, "list", 100).has_value();
  };
  EXPECT_TRUE(direct("127.0.0.0/8", "127.0.0.1"));
  EXPECT_TRUE(direct("10.0.0.0/8,127.0.0.1", "127.0.0.1"));
  EXPECT_FALSE(direct("10.0.0.0/8,127.0.1.0/24", "127.0.0.1"));
  EXPECT_TRUE(direct(".store.localhost", "acct.store.localhost"));
  EXPECT_TRUE(direct("example.com, store.localhost", "acct.store.localhost"));
  EXPECT_FALSE(direct("example.com,other.localhost", "acct.store.localhost"));
  EXPECT_TRUE(direct("*", "acct.store.localhost"));
  EXPECT_FALSE(direct("", "127.0.0.1"));
}

TEST_F(HttpClient, AnUntrustedCertificateIsNamedAndABundleHelps) {
  char directory[] = "/tmp/stage-tls-XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  const std::string pem = std::string(directory) + "/pem";
  const std::string make_pem =
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
      "-days 1 -subj /CN=stage -addext subjectAltName=IP:127.0.0.1 -keyout " +
      pem + " -out " + pem + ".crt 2>/dev/null && cat " + pem + ".crt >> " + pem;
  ASSERT_EQ(std::system(make_pem.c_str()), 0);
  {
    test::RudeServer secure(pem);
    http::Request request;
    request.origin = secure.origin();
    request.path = "/object/" + key() + "/5000/ok";
    make();
    auto response = client_->perform(request, "list", kMiB);
    ASSERT_FALSE(response);
    EXPECT_THAT(response.error().message, HasSubstr("no trusted connection to 127.0.0.1:"));
    EXPECT_THAT(response.error().message, HasSubstr("SSL_CERT_FILE"));
    EXPECT_EQ(client_->counters().requests, 1U);
    environment_.ca_file = pem + ".crt";
    make();
    response = client_->perform(request, "list", kMiB);
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(response->body.size(), 5000U);
  }
  std::filesystem::remove_all(directory);
}

TEST_F(HttpClient, ABodyAboveTheLimitIsRefused) {
  make();
  http::Request request;
  request.origin = server().origin();
  request.path = "/object/" + key() + "/5000/ok";
  const auto response = client_->perform(request, "list", 4999);
  ASSERT_FALSE(response);
  EXPECT_THAT(response.error().message, HasSubstr("more than 4999 bytes"));
}

// H7: positions beyond 2^31 and 2^32.
TEST_F(HttpClient, RangesBeyond32Bits) {
  const std::uint64_t tib6 = std::uint64_t{6} << 40;
  for (const std::uint64_t middle : {std::uint64_t{1} << 31, std::uint64_t{1} << 32, tib6 - 500}) {
    expect_good(get("ok", tib6, middle - 500, 1000), middle - 500);
  }
}

TEST_F(HttpClient, ManyAtOnceAllArrive) {
  options_.concurrency = 8;
  make();
  constexpr int kCount = 64;
  constexpr std::uint64_t kLength = 100000;
  std::vector<std::byte> memory(kCount * kLength);
  std::atomic<int> good{0}, left{kCount};
  std::promise<void> all;
  const std::string name = key();
  for (int i = 0; i < kCount; ++i) {
    RangeGet get;
    get.request.origin = server().origin();
    // The first dozen requests meet one trouble or another.
    get.request.path = "/object/" + name + "/" + std::to_string(memory.size()) +
                       "/reset*2/short-fin*2/status:503*2/chunk-cut*2/zero*2/status:500*2";
    get.what = "object 'x'";
    get.offset = i * kLength;
    get.length = kLength;
    get.total = memory.size();
    get.target = memory.data() + get.offset;
    get.done = [&](Status status) {
      if (status) ++good;
      if (--left == 0) all.set_value();
    };
    client_->start(std::move(get));
  }
  all.get_future().wait();
  EXPECT_EQ(good, kCount);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    ASSERT_EQ(memory[i], std::byte(i % 251)) << i;
  }
}

}  // namespace
}  // namespace stage_model::http
