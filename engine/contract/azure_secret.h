// What Azure's secrets say of themselves: whose they are and when they end. Read by the engine,
// which uses them, and at submit, so that a job does not wait in the queue with one that is dead.
// Pure; thread-safe.
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include "stage_model/result.h"

namespace stage_model {

// "AccountName=…;AccountKey=…;…". Holds secrets. Empty fields were not given.
struct ConnectionString {
  std::string account;   // from the endpoint if not given; "" if that does not tell
  std::string key;       // base64
  std::string sas;       // without '?'
  std::string endpoint;  // of the blob service, no slash at the end; from the parts if not given
};

// Strict about the form, tolerant of unknown keys (other services' endpoints). Errors: kSource;
// messages name keys, never values of secrets.
Result<ConnectionString> parse_connection_string(std::string_view text);

// The storage account that an http(s) URL belongs to by its form: the host's first label, or, as
// emulators have it, the first part of the path. "" where a name of the site's own hides it.
std::string account_of_endpoint(std::string_view url);

struct SasTimes {
  std::optional<std::time_t> starts;
  std::optional<std::time_t> expires;  // by itself, or with the user's delegation key
};

// Of a SAS as it is pasted, with or without '?'. Errors: kSource for a time that cannot be read;
// the message names the parameter, and holds nothing else of the token.
Result<SasTimes> sas_times(std::string_view token);

}  // namespace stage_model
