// DEST/.stage-model/manifest: what a staged directory holds. Written last, whole or not at all; a
// directory without a valid one is not a model. JSON, one object a line, so that people can grep.
// Parsing and formatting are pure: no I/O. The files are untrusted input (a job may write there).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/store/store.h"
#include "stage_model/result.h"

namespace stage_model::store {

inline constexpr std::uint64_t kMaxManifestBytes = std::uint64_t{1} << 30;

struct Manifest {
  // Format 1: "objects" sorted by name; "extents" are [length, digest] in order of offset from 0.
  static constexpr int kFormat = 1;

  struct File {
    std::string name;
    std::uint64_t size = 0;
    std::string etag;
    // As the file was when it was sealed: a later change by hand is noticed by them.
    std::int64_t modified_ns = 0;
    std::uint64_t inode = 0;
    std::vector<ProvenExtent> extents;  // cover the file without gap
  };

  std::string source;
  std::vector<std::string> directories;  // markers; sorted
  std::vector<File> files;               // sorted by name

  const File* find(std::string_view name) const;  // nullptr: not there
};

std::string format_manifest(const Manifest& manifest);

// Strict: every key known and there once, every name safe, sorted and unique, every file covered by
// its extents. Errors: kDestination, one line that says what is wrong.
Result<Manifest> parse_manifest(std::string_view text);

}  // namespace stage_model::store
