// .stage-model/journal in a temporary directory: who works there, and which extents are on disk.
// Append-only records, each with a checksum of its own, so that a torn tail costs only itself. The
// journal is a claim, not a proof: what it names is read again and compared before it counts.
// Parsing and encoding are pure. All integers are little endian.
//
//   file   = magic "SMJOURN1" record…        record = u32 length, payload, u64 XXH3 of the payload
//   payload = u8 kind …                       header first, once
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/fd.h"
#include "engine/base/mutex.h"
#include "engine/store/process.h"
#include "engine/store/store.h"
#include "stage_model/result.h"

namespace stage_model::store {

inline constexpr std::uint64_t kMaxJournalBytes = std::uint64_t{4} << 30;

struct JournalHeader {
  std::string destination;
  std::string source;
  Process owner;
};

struct JournalObject {
  std::uint32_t id = 0;  // of the listing at that time; means nothing beyond this journal
  std::uint64_t size = 0;
  std::string name, etag;
  std::vector<ProvenExtent> extents;  // as written; may overlap after a takeover
};

struct Journal {
  JournalHeader header;
  std::vector<JournalObject> objects;
  bool released = false;  // its owner ended in an orderly way
  std::uint64_t claimed_bytes() const;
};

// The valid beginning of `bytes`. Errors: kDestination where not even the header is whole.
Result<Journal> parse_journal(std::string_view bytes);

std::string encode_header(const JournalHeader& header);  // magic included
std::string encode_object(std::uint32_t id, const plan::Object& object);
std::string encode_extent(std::uint32_t id, const ProvenExtent& extent);
std::string encode_release();

// Appends to the journal of this run. Thread-safe.
class JournalWriter {
 public:
  // Creates the file, and locks it with `lock` before it writes; `shown` is its path for messages.
  // Errors: kDestination.
  static Result<std::unique_ptr<JournalWriter>> create(int temp_dir, const JournalHeader& header,
                                                       const std::string& shown,
                                                       const std::function<int(int)>& lock);

  // 0 or errno. A failed append is undone, so that later records stay readable.
  int extents(std::uint32_t id, const plan::Object& object,
              const std::vector<ProvenExtent>& extents);
  int release();

  int fd() const { return fd_.get(); }

 private:
  explicit JournalWriter(Fd fd) : fd_(std::move(fd)) {}
  int header(const JournalHeader& header);
  int append(std::string_view record) STAGE_REQUIRES(mutex_);

  Mutex mutex_;
  Fd fd_;
  std::vector<bool> known_ STAGE_GUARDED_BY(mutex_);  // objects that have a record already
};

}  // namespace stage_model::store
