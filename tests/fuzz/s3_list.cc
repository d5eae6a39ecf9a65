// S3's ListObjectsV2 pages and error bodies: what comes out can become a listing.
#include "engine/source/s3_list.h"

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/listing.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stage_model;
  const std::string_view text = fuzz::text_of(data, size);
  source::parse_s3_error(text);
  const std::string md5 = source::md5_of_etag(text);
  fuzz::expect(md5.empty() || md5.size() == 16, "an MD5 has 16 bytes");
  auto page = source::parse_s3_page(text);
  if (!fuzz::ok_or_one_line(page)) return 0;
  std::vector<source::Entry> entries;
  for (source::S3Entry& entry : page->entries) {
    const std::string hash = source::md5_of_etag(entry.entry.etag);
    fuzz::expect(hash.empty() || hash.size() == 16, "an MD5 has 16 bytes");
    entries.push_back(std::move(entry.entry));
  }
  fuzz::check_entries(std::move(entries));
  return 0;
}
