// Azure's connection strings: "AccountName=…;AccountKey=…;…".
#pragma once

#include <string>
#include <string_view>

#include "stage_model/result.h"

namespace stage_model::auth {

// Holds secrets. Empty fields were not given.
struct ConnectionString {
  std::string account;   // from the endpoint if not given; "" if that does not tell
  std::string key;       // base64
  std::string sas;       // without '?'
  std::string endpoint;  // of the blob service, no slash at the end; from the parts if not given
};

// Strict about the form, tolerant of unknown keys (other services' endpoints). Errors: kSource;
// messages name keys, never values of secrets.
Result<ConnectionString> parse_connection_string(std::string_view text);

}  // namespace stage_model::auth
