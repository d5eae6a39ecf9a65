// The manifest, which a job may have written over: names that stay inside, files that are covered.
#include "engine/store/manifest.h"

#include "engine/store/names.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stage_model;
  const std::string_view text = fuzz::text_of(data, size);
  std::string name;
  fuzz::expect(store::decode_name(store::encode_name(text), &name) && name == text,
               "a name comes out as it went in");
  const auto manifest = store::parse_manifest(text);
  if (!fuzz::ok_or_one_line(manifest)) return 0;
  for (const std::string& directory : manifest->directories) {
    fuzz::expect(store::safe_name(directory), "a directory stays inside");
  }
  for (const store::Manifest::File& file : manifest->files) {
    fuzz::expect(store::safe_name(file.name), "a file stays inside");
    fuzz::expect(manifest->find(file.name) == &file, "a file is found");
    std::uint64_t end = 0;
    for (const store::ProvenExtent& extent : file.extents) {
      fuzz::expect(extent.offset == end && extent.length > 0, "extents have no gap");
      end += extent.length;
    }
    fuzz::expect(end == file.size, "extents cover the file");
  }
  const std::string again = store::format_manifest(*manifest);
  const auto reread = store::parse_manifest(again);
  fuzz::expect(reread && store::format_manifest(*reread) == again,
               "a manifest comes out as it went in");
  return 0;
}
