// The node's record of a job, which steps act on. It is only ever read from a file.
#include "stage_model/record.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/fuzz/fuzz.h"

namespace {

using namespace stage_model;

// Removed when the process ends well.
struct Directory {
  Directory() {
    // In memory where that can be: each record that is written waits for its disk.
    const std::filesystem::path memory = "/dev/shm";
    std::string pattern =
        (std::filesystem::exists(memory) ? memory : std::filesystem::temp_directory_path()) /
        "stage-fuzz-XXXXXX";
    fuzz::expect(::mkdtemp(pattern.data()) != nullptr, "a temporary directory can be made");
    path = pattern;
    ::mkdir((path + "/1").c_str(), 0700);
    ::mkdir((path + "/2").c_str(), 0700);
  }
  ~Directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string path;
};

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Directory directory;
  const std::string& state = directory.path;
  std::ofstream(record_path(state, "1"), std::ios::binary) << fuzz::text_of(data, size);
  const auto record = read_record(state, "1");
  if (!fuzz::ok_or_one_line(record)) return 0;
  fuzz::expect(record->found, "a record that is there is found");
  fuzz::expect(fuzz::ok_or_one_line(write_record(state, "2", record->record)),
               "a record can be written");
  const std::string text = bytes_of(record_path(state, "2"));
  const auto again = read_record(state, "2");
  fuzz::expect(again && again->found, "a record can be read again");
  fuzz::expect(write_record(state, "2", again->record) && bytes_of(record_path(state, "2")) == text,
               "a record comes out as it went in");
  return 0;
}
