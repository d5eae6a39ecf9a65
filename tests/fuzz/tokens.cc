// What the services that give out tokens answer, and the files of aws-cli.
#include "engine/auth/aws_grants.h"
#include "engine/auth/aws_profile.h"
#include "engine/auth/azure_login.h"
#include "engine/auth/google.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stage_model;
  constexpr std::time_t kNow = 1'800'000'000;
  const std::string text(fuzz::text_of(data, size));
  for (const auto& proof :
       {auth::parse_azure_token(text, kNow), auth::parse_google_token(text, kNow)}) {
    if (!fuzz::ok_or_one_line(proof)) continue;
    fuzz::expect(!proof->secret.empty(), "there is a token");
    fuzz::expect(proof->secret.find_first_of("\r\n") == std::string::npos, "a token fits a header");
  }
  for (const auto& grant : {auth::parse_aws_grant_json(text), auth::parse_aws_grant_xml(text)}) {
    fuzz::ok_or_one_line(grant);
  }
  for (const char c : auth::azure_error_code(text)) {
    fuzz::expect(
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_',
        "an error's code can be shown");
  }
  auth::is_safe_for_secrets(text);
  auth::parse_aws_file(text);
  return 0;
}
