// The node's disk: a staging directory next to the destination, its files, and the one step that
// makes it the destination. Runs as the job's user. Layout:
//
//   PARENT/.stage-model-HASH-RANDOM/     temporary, HASH from the destination's name
//     .stage-model/journal               extents that are on disk, appended as they get there
//     <files and directories of the model>
//   DEST/.stage-model/manifest, report.json, log, list
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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

// The one of exactly this place and length among `extents`, which are in order of offset; null if
// there is none.
const ProvenExtent* find_extent(const std::vector<ProvenExtent>& extents, std::uint64_t offset,
                                std::uint64_t length);

// When a file of the manifest counts as the listed object. The source must be the same for all but
// kNone; an object without an ETag is never held by kEtag. A partial file always needs the ETag
// too.
enum class Compare {
  kEtag,  // ETag and size
  kSize,  // size
  kNone,  // nothing counts: everything is transferred again
};

struct StagingOptions {
  bool direct = true;    // O_DIRECT where the file system takes it
  unsigned writers = 0;  // threads; 0: chosen by prepare()
  Compare compare = Compare::kEtag;
  double partial_keep_s = 86400;
};

// What this rank already has of a listing; index = object.
struct Presence {
  bool published = false;           // DEST exists, is valid, and is exactly this model
  std::vector<bool> held;           // whole file, according to a valid manifest
  std::vector<bool> other_version;  // held by its size alone: staged under another ETag
  // From an adopted journal, re-read and verified; in order of offset.
  std::vector<std::vector<ProvenExtent>> partial;
  std::uint64_t longest_piece = 0;  // on record, of files that were cut into several; bytes
};

// One write: `length` bytes at `offset` of object's file, from memory that is kAlignment-aligned.
// `offset` is a multiple of kAlignment.
struct Write {
  std::uint32_t object = 0;
  std::uint64_t offset = 0, length = 0;
  const std::byte* data = nullptr;
  Digest digest;                     // goes to the journal
  std::function<void(Status)> done;  // once, on a writer thread; must not block
};

class Staging {
 public:
  // Without publish(): keeps or removes partial data by options. Writes that have not begun end
  // with kStopped; no callback runs after the destructor returns.
  virtual ~Staging() = default;

  // Looks, and takes over or removes what dead runs left next to the destination. Call once, first.
  // `listing` must outlive the Staging. Errors: kDestination (a name the file system cannot hold).
  virtual Result<Presence> presence(const plan::Listing& listing) = 0;
  Result<Presence> presence(plan::Listing&&) = delete;

  // Counts a held object as one that is not: its bytes will be written. Between presence() and
  // check_space().
  virtual void forget(std::uint32_t object) = 0;

  // Does what is not held fit? `bytes_needed` and `files_needed` count every file that is not held,
  // partial ones in full: adopted partial data counts as free, and so does what dead runs left for
  // other destinations in the same directory: prepare() removes it if it has to, the oldest first,
  // and a line on stderr says so. Errors: kDestination, naming the path, what is needed and what is
  // free.
  virtual Status check_space(std::uint64_t bytes_needed, std::uint64_t files_needed) = 0;

  // Makes the room that check_space() found, creates the temporary directory, all directories and
  // files, and reserves their space where the file system can; hard-links the held ones in. Does
  // nothing if published.
  virtual Status prepare() = 0;

  // Queues; never blocks. Any thread, after prepare(). Not for held objects.
  virtual void write(Write write) = 0;

  // Reads back `length` bytes of a held or written extent (for a rank that broadcasts what it
  // holds, for --verify disk). Blocking; any thread, after prepare(). `target` is aligned as for
  // Write, and may be overwritten up to the next multiple of kAlignment.
  virtual Status read(std::uint32_t object, std::uint64_t offset, std::uint64_t length,
                      std::byte* target) = 0;

  // What is on record of the bytes of an object that was here before: a held one's by its manifest,
  // a partial one's by the journal; in order of offset. Any thread, after prepare().
  virtual const std::vector<ProvenExtent>& recorded(std::uint32_t object) const = 0;

  // After the last write's callback: lengths set, fsync of files and directories, manifest written.
  // `extents[object]` must cover the object without gap or overlap, in order of offset, proven ones
  // included; may be empty for held objects (the old manifest's are kept) and empty files.
  // Does nothing if published. Errors: kDestination, kIntegrity (a gap).
  virtual Status seal(const std::vector<std::vector<ProvenExtent>>& extents) = 0;

  // rename, or RENAME_EXCHANGE and removal of the old one. The only step that a reader can see.
  // That another job has published the very same model in the meantime is success.
  virtual Status publish() = 0;

  // After publish(): writes DEST/.stage-model/NAME (report.json, log) in one step. `name` is a
  // single path component of ours.
  virtual Status save(const std::string& name, const std::string& text) = 0;

  // Removes partial data now (integrity failures, ENOSPC).
  virtual void discard() = 0;

  virtual bool direct() const = 0;       // is O_DIRECT in use
  virtual unsigned writers() const = 0;  // threads, after prepare()
  // Bytes per second of one thread's O_DIRECT write, as prepare() saw it; 0: it did not look.
  virtual double disk_speed() const = 0;
  virtual std::uint64_t bytes_written() const = 0;
};

// What save() wrote at DEST in an earlier run; nothing if there is none that may be used (DEST of
// another user, not ours, over 1 GiB). Blocking; changes nothing.
std::optional<std::string> read_saved(const std::string& destination, const std::string& name);

// Checks DEST (absolute, parent reachable, no link where DEST is, nothing there that is not ours)
// and takes hold of its parent by descriptor. Creates missing parents, 0755, as the calling user.
// Errors: kDestination, kUsage for a path that can never work.
Result<std::unique_ptr<Staging>> open_staging(const std::string& destination,
                                              const StagingOptions& options);

}  // namespace stage_model::store
