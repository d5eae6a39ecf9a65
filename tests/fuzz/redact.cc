// A secret that stands where secrets stand never gets through, whatever is around it.
#include "engine/http/redact.h"

#include <array>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stage_model;
  constexpr std::string_view kSecret = "hUnTeR2sEcReT";
  const std::string_view text = fuzz::text_of(data, size);
  if (text.find(kSecret) != std::string_view::npos) return 0;  // may stand where it is none
  const std::string secret(kSecret);
  const std::string around(text);
  const std::array<std::string, 5> messages = {
      around + " https://host/c?sv=1&sig=" + secret,
      "GET https://host/c?X-Amz-Signature=" + secret + "&x=" + around,
      around + "\nAuthorization: Bearer " + secret + "\r\n" + around,
      around + " https://user:" + secret + "@host/" + around,
      "AccountKey=" + secret + ";" + around,
  };
  for (const std::string& message : messages) {
    const std::string shown = http::redact(message);
    fuzz::expect(shown.find(kSecret) == std::string::npos, "a secret is blanked");
    for (const char c : shown) {
      const auto byte = static_cast<unsigned char>(c);
      fuzz::expect(byte >= 0x20 && byte != 0x7f, "a message is one line");
    }
  }
  return 0;
}
