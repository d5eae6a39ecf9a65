// Stands in for libFuzzer where the compiler has none:
//
//   TARGET CORPUS-DIR   replays the files, then mutates them for $STAGE_FUZZ_SECONDS (default 1)
//                       from the seed $STAGE_FUZZ_SEED (default: of the clock, printed)
//   TARGET FILE...      runs these inputs alone
//
// An input that ends the process or takes longer than kMaxSeconds is left in ./crash-TARGET.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <vector>

#include "tests/fuzz/fuzz.h"

extern "C" {
// Of the sanitizers' runtime, where there is one.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));
// No parser of inputs this small needs more than this at once.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
const char* __asan_default_options() { return "max_allocation_size_mb=256:handle_abort=0"; }
// gcc's has a runtime of its own, which knows nothing of the callback above.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
const char* __ubsan_default_options() { return "abort_on_error=1:print_stacktrace=1"; }
}

namespace {

namespace fs = std::filesystem;
using Input = std::vector<std::uint8_t>;

constexpr std::size_t kMaxSize = 64 << 10;
constexpr unsigned kMaxSeconds = 20;

const Input* current = nullptr;
std::string crash_path;  // NOLINT(bugprone-throwing-static-initialization)

// Only what a signal handler may call.
void save_current() {
  if (current == nullptr) return;
  const int fd = ::open(crash_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || ::write(fd, current->data(), current->size()) < 0) return;
  ::close(fd);
  constexpr std::string_view kSaved = "the input is in ";
  if (::write(STDERR_FILENO, kSaved.data(), kSaved.size()) < 0 ||
      ::write(STDERR_FILENO, crash_path.data(), crash_path.size()) < 0 ||
      ::write(STDERR_FILENO, "\n", 1) < 0) {
    return;
  }
  current = nullptr;
}

void on_signal(int number) {
  save_current();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

void run(const Input& input) {
  // A copy of exactly this size, so that AddressSanitizer sees a read beyond the end.
  const std::unique_ptr<std::uint8_t[]> exact(new std::uint8_t[input.size()]);
  std::copy(input.begin(), input.end(), exact.get());
  current = &input;
  ::alarm(kMaxSeconds);
  LLVMFuzzerTestOneInput(exact.get(), input.size());
  ::alarm(0);
  current = nullptr;
}

Input read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "%s: cannot be read\n", path.c_str());
    std::exit(2);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

// One to eight small changes to one of the seeds.
class Mutator {
 public:
  Mutator(const std::vector<Input>& seeds, std::uint64_t seed) : seeds_(seeds), random_(seed) {}

  Input next() {
    Input input = any_seed();
    for (std::size_t left = 1 + below(8); left > 0; --left) change(input);
    if (input.size() > kMaxSize) input.resize(kMaxSize);
    return input;
  }

 private:
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }
  const Input& any_seed() { return seeds_[below(seeds_.size())]; }

  void change(Input& input) {
    const std::size_t at = below(input.size() + 1);
    const bool inside = at < input.size();
    switch (below(8)) {
      case 0:
        if (inside) input[at] ^= static_cast<std::uint8_t>(1U << below(8));
        break;
      case 1:
        if (inside) input[at] = any_byte();
        break;
      case 2:
        insert(input, at, Input(1 + below(8), any_byte()));
        break;
      case 3:
        erase(input, at, 1 + below(below(4) == 0 ? input.size() : 8));
        break;
      case 4:  // the same again, some place else
        insert(input, at, piece(input));
        break;
      case 5:  // of another seed
        insert(input, at, piece(any_seed()));
        break;
      case 6:
        number(input, at);
        break;
      default:  // cut short
        if (below(4) == 0) input.resize(at);
        break;
    }
  }

  // Bytes that mean something to some parser come more often than others.
  std::uint8_t any_byte() {
    // With its NUL at the end.
    static constexpr char kTelling[] = "\x01\x7f\x80\xc3\xe2\xff \t\r\n\"'%&+,-./0:;<=>?@[\\]{|}~#";
    const bool telling = below(2) == 0;
    return static_cast<std::uint8_t>(telling ? kTelling[below(sizeof kTelling)] : below(256));
  }

  // A digit with all its neighbours, or else eight bytes, becomes a number at some limit.
  void number(Input& input, std::size_t at) {
    static constexpr std::array<std::uint64_t, 12> kLimits = {0,
                                                              1,
                                                              127,
                                                              255,
                                                              65535,
                                                              65536,
                                                              0x7fffffff,
                                                              0x80000000,
                                                              0xffffffff,
                                                              0x7fffffffffffffff,
                                                              0x8000000000000000,
                                                              ~0ULL};
    const std::uint64_t value = kLimits[below(kLimits.size())];
    const auto digit = [](std::uint8_t c) { return c >= '0' && c <= '9'; };
    const auto from =
        std::find_if(input.begin() + static_cast<std::ptrdiff_t>(at), input.end(), digit);
    if (from != input.end() && below(4) != 0) {
      const auto place = static_cast<std::size_t>(from - input.begin());
      input.erase(from, std::find_if_not(from, input.end(), digit));
      const std::string text = std::to_string(value) + (below(4) == 0 ? "0" : "");
      return insert(input, place, Input(text.begin(), text.end()));
    }
    const bool little = below(2) == 0;
    const std::size_t bytes = std::size_t{1} << below(4);
    for (std::size_t i = 0; i < bytes && at + i < input.size(); ++i) {
      input[at + i] = static_cast<std::uint8_t>(value >> (8 * (little ? i : bytes - 1 - i)));
    }
  }

  Input piece(const Input& of) {
    const auto at = static_cast<std::ptrdiff_t>(below(of.size()));
    const auto left = of.size() - static_cast<std::size_t>(at);
    const auto length = static_cast<std::ptrdiff_t>(below(std::min<std::size_t>(left, 512) + 1));
    return {of.begin() + at, of.begin() + at + length};
  }

  static void insert(Input& input, std::size_t at, const Input& bytes) {
    input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin(), bytes.end());
  }

  static void erase(Input& input, std::size_t at, std::size_t count) {
    const std::size_t end = std::min(input.size(), at + count);
    input.erase(input.begin() + static_cast<std::ptrdiff_t>(at),
                input.begin() + static_cast<std::ptrdiff_t>(end));
  }

  const std::vector<Input>& seeds_;
  std::mt19937_64 random_;
};

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr || *text == '\0' ? otherwise : std::strtoull(text, nullptr, 10);
}

int fuzz(const fs::path& corpus) {
  using Clock = std::chrono::steady_clock;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(corpus)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Input> seeds = {Input()};
  for (const fs::path& file : files) seeds.push_back(read_file(file));
  if (seeds.size() == 1) {
    std::fprintf(stderr, "%s: an empty corpus finds nothing\n", corpus.c_str());
    return 2;
  }
  for (const Input& input : seeds) run(input);

  const std::uint64_t seed = number_of(
      "STAGE_FUZZ_SEED",
      static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()));
  const auto seconds = static_cast<std::int64_t>(number_of("STAGE_FUZZ_SECONDS", 1));
  std::fprintf(stderr, "STAGE_FUZZ_SEED=%llu\n", static_cast<unsigned long long>(seed));
  const Clock::time_point end = Clock::now() + std::chrono::seconds(seconds);
  Mutator mutator(seeds, seed);
  std::uint64_t count = 0;
  for (; Clock::now() < end; ++count) run(mutator.next());
  std::printf("%zu inputs replayed, %llu mutated\n", seeds.size(),
              static_cast<unsigned long long>(count));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s CORPUS-DIR | FILE...\n", argv[0]);
    return 2;
  }
  crash_path = "crash-" + fs::path(argv[0]).filename().string();
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(save_current);
  for (const int number : {SIGABRT, SIGALRM}) std::signal(number, on_signal);
  if (fs::is_directory(argv[1])) return fuzz(argv[1]);
  for (int i = 1; i < argc; ++i) run(read_file(argv[i]));
  return 0;
}
