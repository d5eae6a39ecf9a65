#include "engine/store/journal.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <limits>
#include <unordered_map>

#include "engine/base/bytes.h"
#include "engine/store/errors.h"
#include "engine/store/names.h"
#include "engine/store/tree.h"

namespace stage_model::store {
namespace {

constexpr std::string_view kMagic = "SMJOURN1";
constexpr std::uint32_t kMaxRecord = 64 << 10;

enum Kind : char { kHeader = 'H', kObject = 'O', kExtent = 'E', kRelease = 'R' };

// Length, payload, checksum. `payload`: begins with its kind.
std::string record(const ByteWriter& payload) {
  const std::string& bytes = payload.bytes();
  return ByteWriter()
      .number(bytes.size(), 4)
      .raw(bytes)
      .number(XXH3_64bits(bytes.data(), bytes.size()))
      .take();
}

ByteWriter payload(Kind kind) {
  ByteWriter out;
  out.number(static_cast<std::uint8_t>(kind), 1);
  return out;
}

// The next whole record's payload, or empty at the end or at the first damage.
std::string_view next_payload(ByteReader* in) {
  const std::uint64_t length = in->number(4);
  if (length == 0 || length > kMaxRecord) return {};
  const std::string_view payload = in->raw(length);
  const std::uint64_t sum = in->number();
  if (!in->ok() || sum != XXH3_64bits(payload.data(), payload.size())) return {};
  return payload;
}

bool read_header(ByteReader in, JournalHeader* header) {
  header->destination = in.text();
  header->source = in.text();
  header->owner.pid = in.number();
  header->owner.started = in.number();
  header->owner.boot = in.text();
  header->owner.namespaces = in.text();
  return in.done() && header->owner.pid > 0 &&
         header->owner.pid <= std::numeric_limits<std::int32_t>::max();
}

using ById = std::unordered_map<std::uint32_t, std::size_t>;

bool read_object(ByteReader in, Journal* journal, ById* by_id) {
  JournalObject object;
  object.id = static_cast<std::uint32_t>(in.number(4));
  object.size = in.number();
  object.name = in.text();
  object.etag = in.text();
  if (!in.done() || !safe_name(object.name)) return false;
  if (!by_id->emplace(object.id, journal->objects.size()).second) return false;
  journal->objects.push_back(std::move(object));
  return true;
}

bool read_extent(ByteReader in, Journal* journal, const ById& by_id) {
  const auto object = by_id.find(static_cast<std::uint32_t>(in.number(4)));
  ProvenExtent extent;
  extent.offset = in.number();
  extent.length = in.number();
  extent.digest.low = in.number();
  extent.digest.high = in.number();
  if (!in.done() || object == by_id.end()) return false;
  JournalObject& owner = journal->objects[object->second];
  if (extent.length == 0 || extent.offset > owner.size ||
      extent.length > owner.size - extent.offset || extent.offset % plan::kAlignment != 0) {
    return false;
  }
  owner.extents.push_back(extent);
  return true;
}

}  // namespace

std::uint64_t Journal::claimed_bytes() const {
  std::uint64_t bytes = 0;
  for (const JournalObject& object : objects) {
    for (const ProvenExtent& extent : object.extents) bytes += extent.length;
  }
  return bytes;
}

Result<Journal> parse_journal(std::string_view bytes) {
  ByteReader in(bytes);
  Journal journal;
  if (in.raw(kMagic.size()) != kMagic) {
    return fail(ExitCode::kDestination, "journal has another format");
  }
  const std::string_view first = next_payload(&in);
  if (first.empty() || first[0] != kHeader ||
      !read_header(ByteReader(first.substr(1)), &journal.header)) {
    return fail(ExitCode::kDestination, "journal has no valid header");
  }
  ById by_id;
  for (;;) {
    const std::string_view payload = next_payload(&in);
    if (payload.empty()) return journal;
    const ByteReader rest(payload.substr(1));
    bool good = false;
    if (payload[0] == kObject) good = read_object(rest, &journal, &by_id);
    if (payload[0] == kExtent) good = read_extent(rest, &journal, by_id);
    if (payload[0] == kRelease) good = journal.released = true;
    if (!good) return journal;
  }
}

std::string encode_header(const JournalHeader& header) {
  return std::string(kMagic) + record(payload(kHeader)
                                          .text(header.destination)
                                          .text(header.source)
                                          .number(header.owner.pid)
                                          .number(header.owner.started)
                                          .text(header.owner.boot)
                                          .text(header.owner.namespaces));
}

std::string encode_object(std::uint32_t id, const plan::Object& object) {
  return record(
      payload(kObject).number(id, 4).number(object.size).text(object.name).text(object.etag));
}

std::string encode_extent(std::uint32_t id, const ProvenExtent& extent) {
  return record(payload(kExtent)
                    .number(id, 4)
                    .number(extent.offset)
                    .number(extent.length)
                    .number(extent.digest.low)
                    .number(extent.digest.high));
}

std::string encode_release() { return record(payload(kRelease)); }

Result<std::unique_ptr<JournalWriter>> JournalWriter::create(int temp_dir,
                                                             const JournalHeader& header,
                                                             const std::string& shown,
                                                             const std::function<int(int)>& lock) {
  Fd fd = open_beneath(temp_dir, kJournalPath, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0600);
  if (!fd) return disk_error("create", shown, errno);
  // Before there is a header, so that nobody ever reads a live journal that is not locked. A hint
  // to runs that cannot see our process; where it fails they wait longer.
  static_cast<void>(lock(fd.get()));
  std::unique_ptr<JournalWriter> writer(new JournalWriter(std::move(fd)));
  if (const int error = writer->header(header); error != 0) {
    return disk_error("write", shown, error);
  }
  return writer;
}

int JournalWriter::header(const JournalHeader& header) {
  const MutexLock lock(mutex_);
  return append(encode_header(header));
}

int JournalWriter::append(std::string_view record) {
  const off_t before = ::lseek(fd_.get(), 0, SEEK_END);
  while (!record.empty()) {
    const ssize_t put = ::write(fd_.get(), record.data(), record.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      const int error = put < 0 ? errno : EIO;
      // Half a record would hide all that follow it.
      return before >= 0 && ::ftruncate(fd_.get(), before) == 0 ? error : EIO;
    }
    record.remove_prefix(static_cast<std::size_t>(put));
  }
  return 0;
}

int JournalWriter::extents(std::uint32_t id, const plan::Object& object,
                           const std::vector<ProvenExtent>& extents) {
  std::string records;
  for (const ProvenExtent& extent : extents) records += encode_extent(id, extent);
  const MutexLock lock(mutex_);
  if (known_.size() <= id) known_.resize(std::size_t{id} + 1);
  if (!known_[id]) records.insert(0, encode_object(id, object));
  const int error = append(records);
  if (error == 0) known_[id] = true;
  return error;
}

int JournalWriter::release() {
  const MutexLock lock(mutex_);
  return append(encode_release());
}

}  // namespace stage_model::store
