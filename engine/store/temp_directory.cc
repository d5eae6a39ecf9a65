#include "engine/store/temp_directory.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <cerrno>
#include <cstdint>

#include "engine/store/errors.h"
#include "engine/store/tree.h"

namespace stage_model::store {

std::string temp_prefix(const std::string& destination_name) {
  return fmt::format("{}{:016x}-", kTempPrefix,
                     XXH3_64bits(destination_name.data(), destination_name.size()));
}

Result<TempDirectory> make_temp_directory(const Destination& destination, const std::string& source,
                                          const Seams& seams) {
  const int parent = destination.parent_dir.get();
  TempDirectory temp;
  int error = EEXIST;
  for (int attempt = 0; attempt < 16 && error == EEXIST; ++attempt) {
    std::uint32_t random = 0;
    if (::getrandom(&random, sizeof random, 0) != sizeof random) random += attempt;
    temp.name = temp_prefix(destination.name) + fmt::format("{:08x}", random);
    error = ::mkdirat(parent, temp.name.c_str(), 0700) == 0 ? 0 : errno;
  }
  if (error != 0) return disk_error("create a directory in", destination.parent, error);
  temp.dir = open_beneath(parent, temp.name.c_str(), O_RDONLY | O_DIRECTORY);
  if (!temp.dir) error = errno;
  if (error == 0) error = make_directories(temp.dir.get(), kOwnDirectory);
  if (error != 0) {
    remove_tree(parent, temp.name);
    return disk_error("create a directory in", destination.parent, error);
  }
  auto journal = JournalWriter::create(
      temp.dir.get(), {destination.path, source, this_process()},
      (destination.parent == "/" ? "" : destination.parent) + "/" + temp.name + "/" + kJournalPath,
      seams.lock);
  if (!journal) {
    remove_tree(parent, temp.name);
    return tl::unexpected(journal.error());
  }
  temp.journal = std::move(*journal);
  return temp;
}

}  // namespace stage_model::store
