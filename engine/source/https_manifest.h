// A list of files on web servers. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/http/redirect.h"
#include "stage_model/result.h"

namespace stage_model::source {

struct ManifestFile {
  http::Location place;  // where it is, its query included: may be a secret
  std::string name;      // decoded once; relative to what all have in common
  std::uint64_t size = 0;
  std::string sha256;  // 32 raw bytes, or ""
};

// One file a line: URL<TAB>SIZE[<TAB>SHA256]. URLs are absolute or relative to `base`, the
// manifest's own; empty lines and such that begin with '#' are skipped. Names are the paths of the
// URLs, without the directories that all of them share. Errors: kSource, naming the line: its form,
// two files of one name, http beside an https manifest, no file at all.
Result<std::vector<ManifestFile>> parse_https_manifest(std::string_view text,
                                                       const http::Location& base);

// '#' as it is sent: a byte of a name, as everywhere here (http/url.h). libcurl would take it for
// the begin of a fragment, leave the rest away, and bring another file. Not behind a '?'.
std::string with_literal_hashes(std::string_view url);

}  // namespace stage_model::source
