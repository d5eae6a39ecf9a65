#include "engine/mpi/broadcast.h"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "stage_model/units.h"

namespace stage_model::mpi {
namespace {

constexpr char kCollectives[] = "coll";
constexpr char kPriority[] = "coll_adapt_priority";
constexpr char kAlgorithm[] = "coll_adapt_bcast_algorithm";
constexpr char kSegment[] = "coll_adapt_bcast_segment_size";
constexpr int kPipeline = 4;

// The tools interface of MPI: parameters by name. A handle for the time of one question.
class Parameter {
 public:
  explicit Parameter(const char* name) {
    int index = 0;
    if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS) return;
    int verbosity = 0, binding = 0, scope = 0, name_length = 0, text_length = 0;
    if (MPI_T_cvar_get_info(index, nullptr, &name_length, &verbosity, &type_, nullptr, nullptr,
                            &text_length, &binding, &scope) != MPI_SUCCESS)
      return;
    known_ = MPI_T_cvar_handle_alloc(index, nullptr, &handle_, &count_) == MPI_SUCCESS;
  }
  ~Parameter() {
    if (known_) MPI_T_cvar_handle_free(&handle_);
  }
  Parameter(const Parameter&) = delete;
  Parameter& operator=(const Parameter&) = delete;

  std::optional<long long> number() const {
    int size = 0;
    if (!known_ || count_ != 1 || type_ == MPI_CHAR || MPI_Type_size(type_, &size) != MPI_SUCCESS)
      return std::nullopt;
    if (size == sizeof(int)) return read<int>();
    return size == sizeof(long long) ? std::optional<long long>(read<long long>()) : std::nullopt;
  }

  std::string text() const {
    if (!known_ || type_ != MPI_CHAR) return {};
    std::vector<char> bytes(static_cast<std::size_t>(count_) + 1);
    MPI_T_cvar_read(handle_, bytes.data());
    return bytes.data();
  }

 private:
  template <class T>
  T read() const {
    T value = 0;
    MPI_T_cvar_read(handle_, &value);
    return value;
  }

  MPI_T_cvar_handle handle_ = nullptr;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  int count_ = 0;
  bool known_ = false;
};

std::string name_of(long long algorithm) {
  constexpr std::array kNames = {"",      "binomial", "in-order binomial", "binary", "pipeline",
                                 "chain", "linear"};
  return algorithm > 0 && algorithm < static_cast<long long>(kNames.size())
             ? kNames[static_cast<std::size_t>(algorithm)]
             : fmt::format("algorithm {}", algorithm);
}

// Of the components that have a non-blocking broadcast the one with the highest priority runs.
bool adapt_runs() {
  const auto ours = Parameter(kPriority).number();
  if (!ours || *ours <= 0 || !allows(Parameter(kCollectives).text(), "adapt")) return false;
  constexpr std::array kOthers = {"coll_libnbc_priority", "coll_hcoll_priority",
                                  "coll_ucc_priority"};
  return std::all_of(kOthers.begin(), kOthers.end(), [&](const char* other) {
    return Parameter(other).number().value_or(0) < *ours;
  });
}

}  // namespace

void choose_broadcast(Settings& settings, bool slow_wire, int ranks) {
  if (!allows(settings.given(kCollectives).value_or(""), "adapt")) return;
  if (settings.given("coll_libnbc_ibcast_algorithm")) return;
  settings.set_default(kPriority, "100");
  settings.set_default(kAlgorithm, std::to_string(kPipeline));
  // A segment is small where a wire is slow, larger where calls would cost more; a deep chain wants
  // smaller ones (tests/bench/simulate --nodes 4096, and --set segment=524288).
  constexpr int kDeep = 256;
  settings.set_default(kSegment, slow_wire ? "65536" : ranks > kDeep ? "131072" : "524288");
}

Broadcast active_broadcast() {
  int provided = 0;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
    return {"not known", 0, false};
  Broadcast active;
  active.chosen = adapt_runs();
  if (active.chosen) {
    active.text = name_of(Parameter(kAlgorithm).number().value_or(0));
    active.segment =
        static_cast<std::uint64_t>(std::max(Parameter(kSegment).number().value_or(0), 0LL));
    if (active.segment > 0) active.text += fmt::format(" of {}", format_size(active.segment));
  } else {
    active.text = "the library's own broadcast";
  }
  MPI_T_finalize();
  return active;
}

}  // namespace stage_model::mpi
