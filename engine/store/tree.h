// Directory trees by descriptor: every path below is relative to a directory that is held open, so
// that renaming or replacing that directory's name changes nothing for us.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/fd.h"
#include "stage_model/result.h"

namespace stage_model::store {

inline constexpr char kOwnDirectory[] = ".stage-model";           // in DEST: manifest, report, log
inline constexpr char kManifestPath[] = ".stage-model/manifest";  // relative to DEST
inline constexpr char kJournalPath[] = ".stage-model/journal";

// openat2 that never leaves `dir` and follows no link anywhere in `path`; invalid on error (errno).
// Plain openat with O_NOFOLLOW on kernels without openat2.
Fd open_beneath(int dir, const char* path, int flags, mode_t mode = 0);

// fstatat without following a link at the end; 0 or errno.
int stat_at(int dir, const char* path, struct stat* out);

// Creates `path` (relative, several components) below dir, each part 0755 whatever the umask is.
// Existing directories are fine. 0 or errno.
int make_directories(int dir, std::string_view path);

// Is parent/name still the directory that is open as `dir`?
bool same_directory(int parent, const std::string& name, int dir);

// The names in a directory, without "." and "..". Empty where it cannot be read.
std::vector<std::string> list_directory(int dir);

// At most `limit` bytes of a regular file; errors: kDestination. `shown` is the path for messages.
Result<std::string> read_file(int dir, const char* path, std::uint64_t limit,
                              const std::string& shown);

// Temporary name, write, fsync, rename, fsync of the directory: the file is there whole or not.
// `directory` and `name` are below dir. Mode 0644 whatever the umask is.
Status write_file(int dir, const char* directory, const char* name, std::string_view text,
                  const std::string& shown);

// Removes parent/name and everything below; false if something stayed. Follows no links.
bool remove_tree(int parent, const std::string& name);

// What removing the tree gives back: nothing for a file with a link outside (a published model's).
struct Usage {
  std::uint64_t bytes = 0;  // allocated on disk
  std::uint64_t files = 0;  // inodes
  friend Usage operator+(const Usage& a, const Usage& b) {
    return {a.bytes + b.bytes, a.files + b.files};
  }
};
Usage tree_usage(int dir);

}  // namespace stage_model::store
