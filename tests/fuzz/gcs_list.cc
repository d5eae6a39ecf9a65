// Google Cloud Storage's lists and errors: what comes out can become a listing.
#include "engine/source/gcs_list.h"

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/listing.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stage_model;
  const std::string_view text = fuzz::text_of(data, size);
  source::parse_gcs_error(text);
  auto page = source::parse_gcs_page(text);
  if (fuzz::ok_or_one_line(page)) fuzz::check_entries(std::move(page->entries));
  return 0;
}
