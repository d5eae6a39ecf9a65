// The hub's trees, commits and Link headers.
#include "engine/source/hf_tree.h"

#include "engine/source/lfs_pointer.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/listing.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stage_model;
  const std::string_view text = fuzz::text_of(data, size);
  const auto commit = source::parse_hf_commit(text);
  if (fuzz::ok_or_one_line(commit)) {
    fuzz::expect(source::is_commit(*commit), "a commit is one: it becomes part of URLs");
  }
  auto entries = source::parse_hf_tree(text);
  if (fuzz::ok_or_one_line(entries)) fuzz::check_entries(std::move(*entries));
  const std::string next = source::next_link(text);
  fuzz::expect(next.find('>') == std::string::npos, "a link ends where it is closed");
  fuzz::expect(text.find(next) != std::string_view::npos, "a link stands in its header");
  source::is_lfs_pointer(text);
  return 0;
}
