#include "engine/source/file_fetcher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <deque>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/mutex.h"
#include "engine/http/token_bucket.h"
#include "engine/source/show.h"
#include "engine/source/whole_fetch.h"

namespace stage_model::source {
namespace {

constexpr unsigned kMaxThreads = 32;  // more readers do not help a file system

struct Block {
  const plan::Object* object = nullptr;
  std::uint64_t offset = 0, length = 0;
  std::byte* target = nullptr;
  std::shared_ptr<WholeFetch> whole;
};

tl::unexpected<Error> refuse(const plan::Object& object, ExitCode code, const std::string& why) {
  return fail(code, fmt::format("file '{}': {}", show(object.key), why));
}

Status check_same(int file, const plan::Object& object) {
  struct stat status {};
  if (fstat(file, &status) != 0) return refuse(object, ExitCode::kTransfer, describe_errno());
  if (!S_ISREG(status.st_mode) || file_etag(status) != object.etag) {
    return refuse(object, ExitCode::kTransfer,
                  "it changed during the download: stage again when it is complete");
  }
  return {};
}

Status read_open(int file, const Block& block) {
  if (Status status = check_same(file, *block.object); !status) return status;
  std::uint64_t done = 0;
  while (done < block.length) {
    const ssize_t got = pread(file, block.target + done, block.length - done,
                              static_cast<off_t>(block.offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refuse(*block.object, ExitCode::kTransfer, describe_errno());
    if (got == 0) return refuse(*block.object, ExitCode::kTransfer, "it became shorter");
    done += static_cast<std::uint64_t>(got);
  }
  return check_same(file, *block.object);
}

Status read_block(const Block& block) {
  // O_NONBLOCK: a fifo that took the file's place must not hold us.
  const int file = open(block.object->key.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return refuse(*block.object, ExitCode::kSource, describe_errno());
  Status status = read_open(file, block);
  close(file);
  return status;
}

class FileFetcher final : public Fetcher {
 public:
  FileFetcher(const TransferOptions& options, double started)
      : block_size_(std::max<std::uint64_t>(1, options.block_size)),
        deadline_(options.deadline_s > 0 ? started + options.deadline_s : 0),
        bucket_(options.max_bandwidth, now()) {
    const unsigned count = std::clamp(options.concurrency, 1U, kMaxThreads);
    for (unsigned i = 0; i < count; ++i) threads_.emplace_back([this] { run(); });
  }

  ~FileFetcher() override {
    {
      const MutexLock lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    // Nobody else is left: a callback may still start more, which ends here too.
    while (!blocks_.empty()) {
      const Block block = std::move(blocks_.front());
      blocks_.pop_front();
      block.whole->block_done(refuse(*block.object, ExitCode::kStopped, "stopped"));
    }
  }

  void start(Fetch fetch) override {
    const std::uint64_t count = (fetch.length + block_size_ - 1) / block_size_;
    if (count == 0) {
      fetch.done({});
      return;
    }
    const auto whole = std::make_shared<WholeFetch>(std::move(fetch.done), count);
    {
      const MutexLock lock(mutex_);
      for (std::uint64_t at = 0; at < fetch.length; at += block_size_) {
        blocks_.push_back({fetch.object, fetch.offset + at,
                           std::min(block_size_, fetch.length - at), fetch.target + at, whole});
      }
    }
    wake_.notify_all();
  }

  Counters counters() const override {
    Counters out;
    out.requests = requests_;
    out.bytes = bytes_;
    return out;
  }

 private:
  void run() {
    while (true) {
      Block block;
      {
        MutexLock lock(mutex_);
        while (!stop_ && blocks_.empty()) wake_.wait(lock);
        if (!stop_) wait_for_rate(lock);
        if (stop_) return;
        if (blocks_.empty()) continue;  // another thread took it meanwhile
        block = std::move(blocks_.front());
        blocks_.pop_front();
        bucket_.take(block.length);
      }
      block.whole->block_done(work(block));
    }
  }

  void wait_for_rate(MutexLock& lock) STAGE_REQUIRES(mutex_) {
    while (!stop_ && !bucket_.open(now())) {
      wake_.wait_for(lock, bucket_.wait(now()));
    }
  }

  Status work(const Block& block) {
    if (*block.whole->failed)
      return refuse(*block.object, ExitCode::kStopped, "not wanted any more");
    if (deadline_ > 0 && now() >= deadline_) {
      return refuse(*block.object, ExitCode::kStopped, "not done within the deadline");
    }
    ++requests_;
    Status status = read_block(block);
    if (status) bytes_ += block.length;
    return status;
  }

  const std::uint64_t block_size_;
  const double deadline_;
  Mutex mutex_;
  Condition wake_;
  bool stop_ STAGE_GUARDED_BY(mutex_) = false;
  std::deque<Block> blocks_ STAGE_GUARDED_BY(mutex_);
  http::TokenBucket bucket_ STAGE_GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> requests_{0}, bytes_{0};
  std::vector<std::thread> threads_;
};

}  // namespace

std::string file_etag(const struct stat& status) {
  return fmt::format("\"{:x}-{:x}-{:x}\"", status.st_size,
                     status.st_mtim.tv_sec * 1000000000LL + status.st_mtim.tv_nsec, status.st_ino);
}

std::string describe_errno() { return std::generic_category().message(errno); }

std::unique_ptr<Fetcher> make_file_fetcher(const TransferOptions& options, double started) {
  return std::make_unique<FileFetcher>(options, started);
}

}  // namespace stage_model::source
