// S3's ListObjectsV2 pages, and the error bodies of S3 and Azure: what comes out can become a
// listing.
#include "engine/source/s3_list.h"

#include "engine/source/xml.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/listing.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stage_model;
  const std::string_view text = fuzz::text_of(data, size);
  source::parse_xml_error(text);
  const std::string md5 = source::md5_of_etag(text);
  fuzz::expect(md5.empty() || md5.size() == 16, "an MD5 has 16 bytes");
  auto page = source::parse_s3_page(text);
  if (!fuzz::ok_or_one_line(page)) return 0;
  for (const source::Entry& entry : page->entries) {
    const std::string hash = source::md5_of_etag(entry.etag);
    fuzz::expect(hash.empty() || hash.size() == 16, "an MD5 has 16 bytes");
  }
  fuzz::check_entries(std::move(page->entries));
  return 0;
}
