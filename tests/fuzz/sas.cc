// Azure's signatures: read again as they are sent, and never shown.
#include "engine/auth/azure_sas.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stage_model;
  constexpr std::time_t kNow = 1'800'000'000;
  constexpr std::string_view kSecret = "hUnTeR2sEcReT";
  const std::string_view text = fuzz::text_of(data, size);
  const auto sas = auth::parse_sas(text);
  if (fuzz::ok_or_one_line(sas)) {
    const auto again = auth::parse_sas(http::format_query(sas->query));
    fuzz::expect(again && again->query == sas->query && again->expires == sas->expires &&
                     again->starts == sas->starts && again->permissions == sas->permissions,
                 "a SAS comes out as it went in");
  }
  if (text.find(kSecret) != std::string_view::npos) return 0;
  const auto secret = auth::parse_sas("sig=" + std::string(kSecret) + "&" + std::string(text));
  std::string said;
  if (!secret) {
    said = secret.error().message;
  } else {
    if (const Status usable = auth::check_sas(*secret, kNow); !usable)
      said = usable.error().message;
    said += auth::azure_sas(*secret)->describe();
  }
  fuzz::expect(said.find(kSecret) == std::string::npos, "a signature is not shown");
  return 0;
}
