// Azure's connection strings: whole or an error that holds nothing of them.
#include "engine/contract/azure_secret.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stage_model;
  constexpr std::string_view kSecret = "hUnTeR2sEcReT";
  const std::string_view text = fuzz::text_of(data, size);
  const auto parts = parse_connection_string(text);
  if (fuzz::ok_or_one_line(parts)) {
    fuzz::expect(!parts->endpoint.empty() && !parts->endpoint.ends_with('/'),
                 "there is an endpoint");
    fuzz::expect(parts->key.empty() || !parts->account.empty(), "a key is some account's");
  }
  if (text.find(kSecret) != std::string_view::npos) return 0;
  const auto secret =
      parse_connection_string("AccountKey=" + std::string(kSecret) + ";" + std::string(text));
  fuzz::expect(secret || secret.error().message.find(kSecret) == std::string::npos,
               "a key is not shown");
  return 0;
}
