// URLs and queries: encoded and decoded exactly once, so that all comes out as it went in.
#include "engine/http/url.h"

#include "engine/base/crypto.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stage_model;
  const std::string_view text = fuzz::text_of(data, size);
  for (const std::string& encoded : {http::encode(text), http::encode_path(text)}) {
    const auto decoded = http::decode(encoded);
    fuzz::expect(decoded && *decoded == text, "what is encoded is decoded");
  }
  fuzz::ok_or_one_line(http::decode(text));

  const auto query = http::parse_query(text);
  if (fuzz::ok_or_one_line(query)) {
    const auto again = http::parse_query(http::format_query(*query));
    fuzz::expect(again && *again == *query, "a query comes out as it went in");
  }
  const auto url = http::parse_url(text);
  if (fuzz::ok_or_one_line(url)) {
    const auto again =
        http::parse_url(url->origin() + url->path + (url->query.empty() ? "" : "?" + url->query));
    fuzz::expect(again && again->origin() == url->origin() && again->path == url->path &&
                     again->query == url->query,
                 "a URL comes out as it went in");
  }
  if (const auto bytes = base64_decode(text)) {
    const auto again = base64_decode(base64_encode(*bytes));
    fuzz::expect(again == bytes, "base64 comes out as it went in");
  }
  return 0;
}
