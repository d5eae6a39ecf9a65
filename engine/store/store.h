// The node's disk: a staging directory next to the destination, its files, and the one step that
// makes it the destination. Runs as the job's user. Layout:
//
//   PARENT/.stage-model-HASH-RANDOM/     temporary, HASH from the destination's name
//     .stage-model/journal               extents that are on disk, appended as they get there
//     <files and directories of the model>
//   DEST/.stage-model/manifest, report.json, log
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/plan/types.h"
#include "stage_model/result.h"

namespace stage_model::store {

struct Digest {  // XXH3 128 of an extent's bytes
  std::uint64_t low = 0, high = 0;
  friend bool operator==(const Digest&, const Digest&) = default;
};
Digest digest(const std::byte* data, std::size_t length);

struct ProvenExtent {
  std::uint64_t offset = 0, length = 0;
  Digest digest;
};

enum class Compare { kEtag, kSize, kNone };

struct StagingOptions {
  bool direct = true;          // O_DIRECT where the file system takes it
  unsigned writers = 4;        // threads
  Compare compare = Compare::kEtag;
  double partial_keep_s = 86400;
};

// What this rank already has of a listing; index = object.
struct Presence {
  bool published = false;                       // DEST exists, is valid, and is exactly this model
  std::vector<bool> held;                       // whole file, according to a valid manifest
  std::vector<std::vector<ProvenExtent>> partial;  // from an adopted journal, re-read and verified
};

// One write: `length` bytes at `offset` of object's file, from memory that is kAlignment-aligned
// and readable up to the next multiple of kAlignment. `offset` is a multiple of kAlignment.
struct Write {
  std::uint32_t object = 0;
  std::uint64_t offset = 0, length = 0;
  const std::byte* data = nullptr;
  Digest digest;                      // goes to the journal
  std::function<void(Status)> done;   // once, on a writer thread; must not block
};

class Staging {
 public:
  virtual ~Staging() = default;  // without publish(): keeps or removes partial data by options

  // Looks, writes nothing but an adopted directory's new name. Call once, first.
  virtual Result<Presence> presence(const plan::Listing& listing) = 0;

  // Bytes free for us at the destination, and whether inodes suffice for `files` more.
  // Counts adopted partial data as free. Errors: kDestination, naming the path.
  virtual Status check_space(std::uint64_t bytes_needed, std::uint64_t files_needed) = 0;

  // Creates the temporary directory, all directories and files; hard-links the held ones in.
  virtual Status prepare() = 0;

  virtual void write(Write write) = 0;  // queues; never blocks

  // Reads back `length` bytes of a held or written extent (for a rank that broadcasts what it
  // holds, for --verify disk). Blocking; `target` aligned as for Write.
  virtual Status read(std::uint32_t object, std::uint64_t offset, std::uint64_t length,
                      std::byte* target) = 0;

  // After the last write: lengths set, fsync of files and directories, manifest written.
  virtual Status seal(const std::vector<std::vector<ProvenExtent>>& extents) = 0;

  // rename, or RENAME_EXCHANGE and removal of the old one. The only step that a reader can see.
  virtual Status publish() = 0;

  // Removes partial data now (integrity failures, ENOSPC).
  virtual void discard() = 0;

  virtual bool direct() const = 0;             // is O_DIRECT in use
  virtual std::uint64_t bytes_written() const = 0;
};

// Checks DEST (absolute, parent reachable, no link where DEST is, file system limits) and takes
// hold of its parent by descriptor. Creates missing parents as the calling user.
Result<std::unique_ptr<Staging>> open_staging(const std::string& destination,
                                              const StagingOptions& options);

}  // namespace stage_model::store
