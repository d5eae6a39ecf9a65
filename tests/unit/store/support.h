// What the tests of the store share: a directory, a model with known bytes, a whole staging.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/fd.h"
#include "engine/store/aligned.h"
#include "engine/store/staging.h"
#include "engine/store/store.h"

namespace stage_model::store {

namespace fs = std::filesystem;

class TempDir {
 public:
  TempDir() : TempDir("/tmp") {}
  explicit TempDir(const std::string& parent) {
    path_ = parent + "/stage-store-test-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~TempDir() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The byte at `offset` of an object; differs between objects and versions.
inline std::byte byte_at(std::uint64_t seed, std::uint64_t offset) {
  std::uint64_t x = (offset / 8 + 1) * 0x9e3779b97f4a7c15U + seed * 0xff51afd7ed558ccdU;
  x ^= x >> 29;
  return static_cast<std::byte>(x >> (8 * (offset % 8)));
}

struct Model {
  plan::Listing listing;
  std::vector<std::uint64_t> seeds;

  explicit Model(const std::string& source = "az://acct/models/m") { listing.source = source; }

  // Names must come in byte order.
  Model& add(const std::string& name, std::uint64_t size, const std::string& etag = "\"1\"") {
    plan::Object object;
    object.name = object.key = name;
    object.size = size;
    object.etag = etag;
    listing.objects.push_back(object);
    seeds.push_back(std::hash<std::string>()(name + etag));
    return *this;
  }

  AlignedBuffer bytes(std::size_t object, std::uint64_t offset, std::uint64_t length) const {
    AlignedBuffer buffer = make_aligned(length);
    for (std::uint64_t i = 0; i < align_up(length); ++i) {
      buffer[i] = byte_at(seeds[object], offset + i);
    }
    return buffer;
  }
};

using Extents = std::vector<std::vector<ProvenExtent>>;

// Waits for a number of writes.
class Pending {
 public:
  std::function<void(Status)> callback() {
    const std::lock_guard lock(mutex_);
    ++open_;
    return [this](Status status) {
      const std::lock_guard inner(mutex_);
      if (!status && result_) result_ = std::move(status);
      if (--open_ == 0) wake_.notify_all();
    };
  }
  Status wait() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return open_ == 0; });
    return result_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  int open_ = 0;
  Status result_;
};

// Writes whatever is neither held nor proven; `extents` becomes what seal() wants.
inline Status write_missing(Staging* staging, const Model& model, const Presence& presence,
                            std::uint64_t chunk, Extents* extents,
                            std::uint64_t* transferred = nullptr) {
  extents->assign(model.listing.objects.size(), {});
  std::vector<AlignedBuffer> buffers;
  Pending pending;
  for (std::uint32_t i = 0; i < model.listing.objects.size(); ++i) {
    if (presence.published || presence.held[i]) continue;
    const std::uint64_t size = model.listing.objects[i].size;
    for (std::uint64_t offset = 0; offset < size;) {
      std::uint64_t length = std::min(chunk, size - offset);
      bool have = false;
      for (const ProvenExtent& extent : presence.partial[i]) {
        if (extent.offset != offset) continue;
        (*extents)[i].push_back(extent);
        length = extent.length;
        have = true;
      }
      if (!have) {
        Write write;
        write.object = i;
        write.offset = offset;
        write.length = length;
        buffers.push_back(model.bytes(i, offset, length));
        write.data = buffers.back().get();
        write.digest = digest(write.data, length);
        write.done = pending.callback();
        (*extents)[i].push_back({offset, length, write.digest});
        if (transferred != nullptr) *transferred += length;
        staging->write(std::move(write));
      }
      offset += length;
    }
  }
  return pending.wait();
}

struct Outcome {
  bool published_before = false;
  std::uint64_t transferred = 0;
};

// The whole way.
inline Result<Outcome> stage(const std::string& destination, const Model& model,
                             std::uint64_t chunk = 64 << 10, StagingOptions options = {},
                             const Seams& seams = system_seams()) {
  Outcome outcome;
  auto staging = open_staging_with(destination, options, seams);
  if (!staging) return tl::unexpected(staging.error());
  auto presence = (*staging)->presence(model.listing);
  if (!presence) return tl::unexpected(presence.error());
  outcome.published_before = presence->published;
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
  for (std::size_t i = 0; i < presence->held.size(); ++i) {
    if (presence->held[i]) continue;
    bytes += model.listing.objects[i].size;
    ++files;
  }
  Extents extents;
  Status status = (*staging)->check_space(bytes, files);
  if (status) status = (*staging)->prepare();
  if (status) {
    status = write_missing(staging->get(), model, *presence, chunk, &extents, &outcome.transferred);
  }
  if (status) status = (*staging)->seal(extents);
  if (status) status = (*staging)->publish();
  if (!status) return tl::unexpected(status.error());
  return outcome;
}

inline std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void spit(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline void expect_model(const std::string& destination, const Model& model) {
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(destination)) {
    const std::string relative = entry.path().string().substr(destination.size() + 1);
    if (entry.is_regular_file() && relative.rfind(".stage-model/", 0) != 0) ++files;
  }
  EXPECT_EQ(files, model.listing.objects.size());
  EXPECT_TRUE(fs::exists(destination + "/.stage-model/manifest"));
  for (std::size_t i = 0; i < model.listing.objects.size(); ++i) {
    const plan::Object& object = model.listing.objects[i];
    const std::string text = slurp(destination + "/" + object.name);
    ASSERT_EQ(text.size(), object.size) << object.name;
    const AlignedBuffer want = model.bytes(i, 0, object.size);
    EXPECT_EQ(std::memcmp(text.data(), want.get(), object.size), 0) << object.name;
  }
}

// Hidden temporary directories next to a destination.
inline std::vector<std::string> leftovers(const std::string& parent) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(parent)) {
    const std::string name = entry.path().filename();
    if (name.rfind(".stage-model-", 0) == 0) names.push_back(name);
  }
  return names;
}

// fork() for a child that goes on in this program, and so may start threads. Only one thread may be
// here: what another holds (malloc's or a sanitizer's locks) nobody would ever give back to the
// child. ThreadSanitizer has a thread of its own.
inline pid_t fork_alone() {
#ifndef __SANITIZE_THREAD__
  const auto threads = [] {
    const fs::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  // A thread that has been joined may still be seen for a moment.
  for (int looks = 0; threads() > 1; ++looks) {
    if (looks == 1000) {
      ADD_FAILURE() << "fork() beside " << threads() - 1 << " other threads";
      std::abort();
    }
    ::usleep(1000);
  }
#endif
  return ::fork();
}

// A child process that runs `body` once it is told to: made before the test has threads.
class WaitingChild {
 public:
  explicit WaitingChild(const std::function<void()>& body) {
    int gate[2];
    if (::pipe2(gate, O_CLOEXEC) != 0) std::abort();
    const Fd wait(gate[0]);
    gate_ = Fd(gate[1]);
    child_ = fork_alone();
    if (child_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that is ended leaves no one behind
    gate_ = Fd();
    char byte = 0;
    if (::read(wait.get(), &byte, 1) != 1) ::_exit(98);  // the test ended before go()
    body();
    ::_exit(::testing::Test::HasFailure() ? 99 : 0);
  }
  ~WaitingChild() {
    gate_ = Fd();
    if (child_ > 0) ::waitpid(child_, nullptr, 0);
  }
  WaitingChild(const WaitingChild&) = delete;
  WaitingChild& operator=(const WaitingChild&) = delete;

  // Waits for its end; returns the signal that ended it, or minus its exit status. The body's
  // failed EXPECTs make it 99.
  int go() {
    if (::write(gate_.get(), "x", 1) != 1) std::abort();
    int status = 0;
    ::waitpid(std::exchange(child_, 0), &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
  }

 private:
  Fd gate_;
  pid_t child_ = 0;
};

inline int in_child(const std::function<void()>& body) { return WaitingChild(body).go(); }

}  // namespace stage_model::store
