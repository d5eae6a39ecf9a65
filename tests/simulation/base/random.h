// Random numbers that are the same on every machine and with every standard library: a seed that
// fails in CI fails on every desk. Not std::mt19937 with std's distributions, whose results are the
// library's own choice. xoshiro256** (Blackman, Vigna 2018), its state filled by splitmix64.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stage_model::simulation {

class Random {
 public:
  explicit Random(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
      seed += 0x9e3779b97f4a7c15;
      std::uint64_t mixed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9;
      mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
      word = mixed ^ (mixed >> 31);
    }
  }

  std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // 0 … bound - 1; bound > 0. The bias of the remainder does not matter here.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  // least … most, both included.
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(most - least) + 1));
  }
  // [0, 1)
  double fraction() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double real(double least, double most) { return least + (most - least) * fraction(); }
  bool chance(double probability) { return fraction() < probability; }

  template <class T>
  const T& one_of(const std::vector<T>& choices) {
    return choices[below(choices.size())];
  }
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

  // A stream of its own, so that one part's draws do not shift another's.
  Random fork() { return Random(next()); }

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace stage_model::simulation
