// The transfer with real MPI and everything else made hard: one buffer of each kind, slow and
// jittery sources and disks, a slow owner, ranks that hold parts already, failures half way.
// Source and disk are timers (the seam); every byte that a "disk" gets is checked.
//   mpirun -n N transfer_soak [key=value ...]      exit code 0: as expected
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "engine/mpi/environment.h"
#include "engine/mpi/fabric.h"
#include "engine/transfer/driver.h"

namespace {

using namespace stage_model;

std::map<std::string, double> settings;
double setting(const char* name, double otherwise) {
  const auto at = settings.find(name);
  return at != settings.end() ? at->second : otherwise;
}

std::byte expected(std::uint32_t object, std::uint64_t at) {
  return static_cast<std::byte>((object * 131 + at * 7 + (at >> 12)) & 0xff);
}

void sleep_s(double seconds) {
  if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

// As a system call on a dead disk or file server does.
[[noreturn]] void hang() {
  for (;;) sleep_s(1);
}

// Does jobs on threads of its own, each after a delay.
class Delayed {
 public:
  Delayed(unsigned threads, double rate, double jitter, unsigned seed)
      : rate_(rate), jitter_(jitter), random_(seed), workers_(threads) {}
  // `counter` grows by `bytes` little by little, as a socket's would.
  void post(std::uint64_t bytes, std::function<void()> job,
            std::atomic<std::uint64_t>* counter = nullptr) {
    double seconds = static_cast<double>(bytes) / rate_;
    {
      const std::lock_guard lock(mutex_);
      seconds *= 1 + jitter_ * std::uniform_real_distribution<>(0, 1)(random_);
    }
    workers_.post([seconds, bytes, job = std::move(job), counter] {
      constexpr int kSteps = 50;
      for (int i = 0; i < kSteps && counter != nullptr; ++i) {
        sleep_s(seconds / kSteps);
        *counter += bytes * (i + 1) / kSteps - bytes * i / kSteps;
      }
      if (counter == nullptr) sleep_s(seconds);
      job();
    });
  }

 private:
  double rate_;
  double jitter_;
  std::mutex mutex_;
  std::mt19937 random_;
  transfer::Workers workers_;
};

class SlowSource : public source::Fetcher {
 public:
  SlowSource(int rank, const plan::Listing& listing, double rate, std::uint64_t fail_after)
      : listing_(listing),
        fail_after_(fail_after),
        hangs_(rank == static_cast<int>(setting("source_hangs", -1))),
        delayed_(2, rate, setting("jitter", 1), rank + 1) {}
  void start(source::Fetch fetch) override {
    const bool trickles = setting("trickle", 0) > 0;
    const std::uint64_t length = fetch.length;
    const auto bring = [this, fetch = std::move(fetch), trickles] {
      if (hangs_) hang();
      if (!trickles) bytes_ += fetch.length;
      if (bytes_ > fail_after_) {
        fetch.done(fail(ExitCode::kTransfer, "the source broke"));
        return;
      }
      const auto object = static_cast<std::uint32_t>(fetch.object - listing_.objects.data());
      for (std::uint64_t i = 0; i < fetch.length; ++i)
        fetch.target[i] = expected(object, fetch.offset + i);
      fetch.done({});
    };
    delayed_.post(length, bring, trickles ? &bytes_ : nullptr);
  }
  source::Counters counters() const override {
    source::Counters counters;
    counters.bytes = bytes_;
    return counters;
  }

 private:
  const plan::Listing& listing_;
  std::uint64_t fail_after_;
  bool hangs_;
  std::atomic<std::uint64_t> bytes_ = 0;
  Delayed delayed_;
};

class SlowDisk : public store::Staging {
 public:
  SlowDisk(int rank, double rate, std::uint64_t fail_after)
      : fail_after_(fail_after),
        hangs_(rank == static_cast<int>(setting("disk_hangs", -1))),
        delayed_(2, rate, setting("jitter", 1), rank + 100) {}
  Result<store::Presence> presence(const plan::Listing&) override { return store::Presence{}; }
  void forget(std::uint32_t) override {}
  Status check_space(std::uint64_t, std::uint64_t) override { return {}; }
  Status prepare() override { return {}; }
  void write(store::Write write) override {
    delayed_.post(write.length, [this, write = std::move(write)] {
      if (hangs_) hang();
      for (std::uint64_t i = 0; i < write.length; ++i) {
        if (write.data[i] != expected(write.object, write.offset + i)) {
          write.done(fail(ExitCode::kIntegrity, "wrong bytes reached the disk"));
          return;
        }
      }
      if ((bytes_ += write.length) > fail_after_) {
        write.done(fail(ExitCode::kDestination, "the disk is full"));
        return;
      }
      write.done({});
    });
  }
  Status read(std::uint32_t object, std::uint64_t offset, std::uint64_t length,
              std::byte* target) override {
    for (std::uint64_t i = 0; i < length; ++i) target[i] = expected(object, offset + i);
    return {};
  }
  const std::vector<store::ProvenExtent>& recorded(std::uint32_t) const override { return none_; }
  Status seal(const std::vector<std::vector<store::ProvenExtent>>&) override { return {}; }
  Status publish() override { return {}; }
  Status save(const std::string&, const std::string&) override { return {}; }
  void discard() override {}
  bool direct() const override { return false; }
  unsigned writers() const override { return 2; }
  double disk_speed() const override { return 0; }
  std::uint64_t bytes_written() const override { return bytes_; }

 private:
  std::uint64_t fail_after_;
  bool hangs_;
  std::atomic<std::uint64_t> bytes_ = 0;
  std::vector<store::ProvenExtent> none_;
  Delayed delayed_;
};

int soak(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string text = argv[i];
    settings[text.substr(0, text.find('='))] = std::atof(text.c_str() + text.find('=') + 1);
  }
  setenv("OMPI_MCA_pml", "ob1", 1);
  setenv("OMPI_MCA_btl", "tcp,self", 1);
  setenv("OMPI_MCA_btl_tcp_if_include", "lo", 1);
  mpi::choose_environment();
  auto fabric = mpi::Fabric::init(&argc, &argv, true);
  if (!fabric) {
    fmt::print(stderr, "{}\n", fabric.error().message);
    return 1;
  }
  const int rank = (*fabric)->rank();
  const int size = (*fabric)->size();

  plan::Listing listing;
  std::mt19937 random(42);
  const int objects = static_cast<int>(setting("objects", 60));
  for (int i = 0; i < objects; ++i) {
    listing.objects.push_back(
        {std::to_string(i), "", random() % (1u << (8 + random() % 13)), "", {}});
  }
  const std::uint64_t chunk_size = 64 << 10;
  // Some ranks hold some objects: every `held`-th object is on the ranks whose number fits.
  std::vector<plan::Bits> held(size, plan::Bits(objects));
  const int every = static_cast<int>(setting("held", 0));
  for (int i = 0; every > 0 && i < objects; i += every) {
    for (int r = 0; r < size; ++r) {
      if (((i / every) >> (r % 5) & 1) != 0) held[r].set(i);
    }
  }
  const auto lacks = static_cast<int>(setting("lacks", -1));
  const auto has = static_cast<int>(setting("has", -1));
  for (int i = 0; i < objects; ++i) {
    for (int r = 0; r < size; ++r) {
      if ((lacks >= 0 && r != lacks) || r == has) held[r].set(i);
    }
  }
  const plan::Layout layout =
      plan::lay_out(listing, plan::group_by_holders(held, objects), chunk_size);
  std::vector<plan::Bits> holders(size, plan::Bits(layout.chunks.size()));
  for (std::size_t c = 0; c < layout.chunks.size(); ++c) {
    for (int r = 0; r < size; ++r) {
      if (held[r].test(layout.extents[layout.chunks[c].first_extent].object)) holders[r].set(c);
    }
  }
  std::vector<std::uint32_t> downloaders;
  for (int r = 0; r < std::min<int>(size, setting("downloaders", size)); ++r)
    downloaders.push_back(r);
  const plan::Assignment assignment = plan::assign(layout, holders, downloaders, size);
  std::uint64_t needed = 0;
  std::uint64_t downloaded = 0;
  for (std::size_t c = 0; c < layout.chunks.size(); ++c) {
    if (!holders[rank].test(c)) needed += layout.chunks[c].bytes;
  }
  for (const auto bytes : assignment.shard_bytes) downloaded += bytes;

  const bool slow = rank == size - 1;
  const auto never = std::uint64_t{1} << 60;
  const int failing = static_cast<int>(setting("fail_rank", -1));
  const auto half = [&](const char* what) {
    return setting(what, 0) > 0 && rank == failing ? static_cast<std::uint64_t>(setting(what, 0))
                                                   : never;
  };
  SlowDisk disk(rank, setting("disk", 200e6) / (slow ? setting("slow_disk", 1) : 1),
                half("disk_fails_after"));
  const bool downloads =
      std::find(downloaders.begin(), downloaders.end(), rank) != downloaders.end();
  std::unique_ptr<source::Fetcher> fetcher;
  if (downloads) {
    fetcher = std::make_unique<SlowSource>(
        rank, listing, setting("source", 200e6) / (slow ? setting("slow_owner", 1) : 1),
        half("source_fails_after"));
  }
  transfer::Options options;
  options.scheduler.chunk_size = chunk_size;
  options.scheduler.receive_buffers = static_cast<std::size_t>(setting("receive", 1));
  options.scheduler.download_buffers = static_cast<std::size_t>(setting("download", 1));
  options.scheduler.downloading = std::max<std::size_t>(1, options.scheduler.download_buffers / 2);
  options.scheduler.pipeline = static_cast<std::size_t>(setting("pipeline", 8));
  options.scheduler.per_root = static_cast<std::size_t>(setting("per_root", 4));
  options.scheduler.take_over = setting("take_over", 1) > 0;
  options.scheduler.stall_timeout_s = setting("stall", 30);
  options.lanes = static_cast<int>(setting("lanes", 1));
  if (setting("staged", 0) > 0) options.schedule = transfer::Schedule::kStaged;
  const report::Clock clock;
  std::uint64_t done = 0;
  const bool cancels = rank == static_cast<int>(setting("cancel_rank", -1));
  const double cancel_all = setting("cancel_all_after", 0);  // seconds; 0: never
  const auto outcome = [&] {
    transfer::Driver driver(
        {**fabric, disk, clock}, {listing, layout, assignment, holders[rank], downloads, true},
        std::move(fetcher), options, [&](std::uint64_t bytes) -> Status {
          done = bytes;
          if ((cancels && bytes > needed / 2) || (cancel_all > 0 && clock.now() > cancel_all))
            return fail(ExitCode::kStopped, "cancelled");
          return {};
        });
    return driver.run();
  }();

  // Same verdict on every rank, and the one that was asked for.
  const int expected_code = static_cast<int>(setting("expect", 0));
  const int code = outcome ? 0 : static_cast<int>(outcome.error().error.code);
  const auto codes = (*fabric)->gather_all({static_cast<std::uint64_t>(code)}, "verdicts");
  const bool same =
      std::all_of(codes.begin(), codes.end(), [&](std::uint64_t c) { return c == codes[0]; });
  std::vector<double> total{outcome ? static_cast<double>(outcome->source.bytes) : 0};
  (*fabric)->reduce(total, MPI_SUM, "bytes");
  bool ok = same && code == expected_code;
  if (code == 0) {
    ok = ok && done == needed && disk.bytes_written() == needed &&
         total[0] == static_cast<double>(downloaded);
  }
  if (rank == 0 || !ok) {
    fmt::print(
        "rank {} of {}: code {} ({}), {} of {} bytes on disk, {} chunks, taken over {}, {:.2f} s: "
        "{}\n",
        rank, size, code, outcome ? "staged" : outcome.error().error.message, done, needed,
        layout.chunks.size(), outcome ? outcome->taken_over : 0, clock.now(), ok ? "ok" : "NOT OK");
  }
  return ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return soak(argc, argv); }
