#include "engine/source/s3_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/http/headers.h"
#include "engine/http/url.h"
#include "engine/source/show.h"
#include "engine/source/xml.h"

namespace stage_model::source {
namespace {

// The encoding of HTML forms: '+' is a space, a plus is %2B.
Result<std::string> form_decode(std::string text) {
  std::replace(text.begin(), text.end(), '+', ' ');
  return http::decode(text);
}

bool is_archived(const pugi::xml_node& contents) {
  const std::string kind = text_of(contents, "StorageClass");
  if (kind != "GLACIER" && kind != "DEEP_ARCHIVE") return false;
  const pugi::xml_node restored = contents.child("RestoreStatus");
  return !restored || text_of(restored, "IsRestoreInProgress") != "false" ||
         text_of(restored, "RestoreExpiryDate").empty();
}

bool states_checksum(const pugi::xml_node& contents) {
  // A checksum of a multipart object's checksums is not one of its bytes.
  if (text_of(contents, "ChecksumType") == "COMPOSITE") return false;
  for (const pugi::xml_node& kind : contents.children("ChecksumAlgorithm")) {
    const std::string_view name = kind.child_value();
    if (name == "SHA256" || name == "CRC32C") return true;
  }
  return false;
}

Result<Entry> parse_contents(const pugi::xml_node& contents, bool encoded) {
  Entry entry;
  entry.key = text_of(contents, "Key");
  if (encoded) {
    Result<std::string> decoded = form_decode(entry.key);
    if (!decoded) {
      return fail(ExitCode::kSource,
                  fmt::format("the list has an unreadable encoded name '{}'", show(entry.key)));
    }
    entry.key = std::move(*decoded);
  }
  if (entry.key.empty() || entry.key.find('\0') != std::string::npos) {
    return fail(ExitCode::kSource, "the list has an object without a usable name");
  }
  const std::string size = text_of(contents, "Size");
  const auto number = http::parse_number(size);
  if (!number) {
    return fail(ExitCode::kSource, fmt::format("the list has no valid size for '{}': '{}'",
                                               show(entry.key), show(size)));
  }
  entry.size = *number;
  entry.etag = text_of(contents, "ETag");
  entry.archived = is_archived(contents);
  entry.head_has_hash = states_checksum(contents);
  return entry;
}

}  // namespace

Result<Page> parse_s3_page(std::string_view xml) {
  pugi::xml_document document;
  const bool parsed = load_xml(document, xml);
  const pugi::xml_node results = document.child("ListBucketResult");
  if (!parsed || !results) {
    return fail(ExitCode::kSource,
                "the answer is not a list of objects: is the endpoint that of an S3 service?");
  }
  const bool encoded = text_of(results, "EncodingType") == "url";
  Page page;
  for (const pugi::xml_node& contents : results.children("Contents")) {
    Result<Entry> entry = parse_contents(contents, encoded);
    if (!entry) return tl::unexpected(entry.error());
    page.entries.push_back(std::move(*entry));
  }
  if (text_of(results, "IsTruncated") == "true") {
    page.next = text_of(results, "NextContinuationToken");
    if (page.next.empty()) {
      return fail(ExitCode::kSource,
                  "the list goes on, but the server does not say where: it does not speak "
                  "ListObjectsV2");
    }
  }
  return page;
}

std::string md5_of_etag(std::string_view etag) {
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') {
    etag = etag.substr(1, etag.size() - 2);
  }
  if (etag.size() != 32) return {};
  std::string escaped;
  for (std::size_t i = 0; i < etag.size(); i += 2) {
    escaped += '%';
    escaped += etag.substr(i, 2);
  }
  return http::decode(escaped).value_or("");
}

}  // namespace stage_model::source
