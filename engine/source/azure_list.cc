#include "engine/source/azure_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/crypto.h"
#include "engine/http/headers.h"
#include "engine/http/url.h"
#include "engine/source/show.h"
#include "engine/source/xml.h"

namespace stage_model::source {
namespace {

std::string lowered(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

bool says_directory(const pugi::xml_node& blob, const pugi::xml_node& properties) {
  if (lowered(text_of(properties, "ResourceType")) == "directory") return true;
  for (const pugi::xml_node& item : blob.child("Metadata").children()) {
    if (lowered(item.name()) == "hdi_isfolder" && lowered(text_of(item)) == "true") return true;
  }
  return false;
}

// The list has ETags bare, the header If-Match wants quotes.
std::string quoted(std::string etag) {
  if (etag.empty() || etag.front() == '"') return etag;
  return "\"" + etag + "\"";
}

bool is_current(const pugi::xml_node& blob) {
  if (!text_of(blob, "Snapshot").empty() || text_of(blob, "Deleted") == "true") return false;
  return text_of(blob, "VersionId").empty() || text_of(blob, "IsCurrentVersion") != "false";
}

Result<Entry> parse_blob(const pugi::xml_node& blob) {
  Entry entry;
  const pugi::xml_node name = blob.child("Name");
  entry.key = text_of(name);
  if (std::string_view(name.attribute("Encoded").value()) == "true") {
    Result<std::string> decoded = http::decode(entry.key);
    if (!decoded) {
      return fail(ExitCode::kSource,
                  fmt::format("the list has an unreadable encoded name '{}'", show(entry.key)));
    }
    entry.key = std::move(*decoded);
  }
  if (entry.key.empty() || entry.key.find('\0') != std::string::npos) {
    return fail(ExitCode::kSource, "the list has a blob without a usable name");
  }
  const pugi::xml_node properties = blob.child("Properties");
  entry.directory = says_directory(blob, properties);
  const std::string size = text_of(properties, "Content-Length");
  const auto number = http::parse_number(size);
  if (!number && !(entry.directory && size.empty())) {
    entry.unusable = fmt::format("has no valid size in the server's list: '{}'", show(size));
  }
  entry.size = number.value_or(0);
  entry.etag = quoted(text_of(properties, "Etag"));
  entry.archived = text_of(properties, "AccessTier") == "Archive";
  // Absent where the uploader did not state it; one that is not an MD5 says nothing.
  const auto md5 = base64_decode(text_of(properties, "Content-MD5"));
  if (md5 && md5->size() == 16) {
    entry.hash.kind = plan::StoreHash::Kind::kMd5;
    entry.hash.bytes = *md5;
  }
  return entry;
}

}  // namespace

Result<Page> parse_azure_page(std::string_view xml) {
  pugi::xml_document document;
  const bool parsed = load_xml(document, xml);
  const pugi::xml_node results = document.child("EnumerationResults");
  if (!parsed || !results) {
    return fail(ExitCode::kSource,
                "the answer is not a list of blobs: is the URL that of a blob service?");
  }
  Page page;
  for (const pugi::xml_node& blob : results.child("Blobs").children("Blob")) {
    if (!is_current(blob)) continue;
    Result<Entry> entry = parse_blob(blob);
    if (!entry) return tl::unexpected(entry.error());
    page.entries.push_back(std::move(*entry));
  }
  page.next = text_of(results, "NextMarker");
  return page;
}

Result<Entry> parse_azure_headers(const std::string& name, const http::Headers& headers) {
  Entry entry;
  entry.key = name;
  const auto size = http::parse_number(http::header(headers, "content-length"));
  if (!size) return fail(ExitCode::kSource, "the server does not say how large the blob is");
  entry.size = *size;
  entry.etag = quoted(std::string(http::header(headers, "etag")));
  entry.archived = http::header(headers, "x-ms-access-tier") == "Archive";
  const auto md5 = base64_decode(http::header(headers, "content-md5"));
  if (md5 && md5->size() == 16) entry.hash = {plan::StoreHash::Kind::kMd5, *md5};
  return entry;
}

}  // namespace stage_model::source
