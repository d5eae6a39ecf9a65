// Azure's List Blobs pages: what comes out can become a listing.
#include "engine/source/azure_list.h"

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/listing.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stage_model;
  const std::string_view text = fuzz::text_of(data, size);
  auto page = source::parse_azure_page(text);
  if (fuzz::ok_or_one_line(page)) fuzz::check_entries(std::move(page->entries));
  const http::Headers headers = {{"content-length", std::string(text)},
                                 {"etag", std::string(text)},
                                 {"content-md5", std::string(text)}};
  const auto single = source::parse_azure_headers("name", headers);
  if (fuzz::ok_or_one_line(single)) fuzz::check_entries({*single});
  return 0;
}
