// The journal of a run that died. Once as it is, and once with records whose checksums are right,
// which no mutation would hit: there, each record is a length (2 bytes, little endian) and a
// payload.
#include "engine/store/journal.h"

#include <xxhash.h>

#include <algorithm>

#include "engine/store/names.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace stage_model;

constexpr std::string_view kMagic = "SMJOURN1";

void append_number(std::uint64_t value, int bytes, std::string& out) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

std::string sealed(std::string_view text) {
  std::string out(kMagic);
  while (text.size() > 2) {
    const auto low = static_cast<unsigned char>(text[0]);
    const auto high = static_cast<unsigned char>(text[1]);
    text.remove_prefix(2);
    const std::string_view payload = text.substr(0, low | std::size_t{high} << 8);
    text.remove_prefix(payload.size());
    append_number(payload.size(), 4, out);
    out += payload;
    append_number(XXH3_64bits(payload.data(), payload.size()), 8, out);
  }
  return out;
}

std::string encode(const store::Journal& journal) {
  std::string out = store::encode_header(journal.header);
  for (const store::JournalObject& object : journal.objects) {
    plan::Object listed;
    listed.name = object.name;
    listed.size = object.size;
    listed.etag = object.etag;
    out += store::encode_object(object.id, listed);
    for (const store::ProvenExtent& extent : object.extents) {
      out += store::encode_extent(object.id, extent);
    }
  }
  if (journal.released) out += store::encode_release();
  return out;
}

void check(std::string_view bytes) {
  const auto journal = store::parse_journal(bytes);
  if (!fuzz::ok_or_one_line(journal)) return;
  std::uint64_t claimed = 0;
  for (const store::JournalObject& object : journal->objects) {
    fuzz::expect(store::safe_name(object.name), "a file stays inside");
    for (const store::ProvenExtent& extent : object.extents) {
      fuzz::expect(extent.length > 0 && extent.offset <= object.size &&
                       extent.length <= object.size - extent.offset,
                   "an extent lies in its file");
      fuzz::expect(extent.offset % plan::kAlignment == 0, "an extent is aligned");
      claimed += extent.length;
    }
  }
  fuzz::expect(claimed == journal->claimed_bytes(), "claims add up");
  const std::string again = encode(*journal);
  const auto reread = store::parse_journal(again);
  fuzz::expect(reread && encode(*reread) == again, "a journal comes out as it went in");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  check(text);
  check(sealed(text));
  return 0;
}
