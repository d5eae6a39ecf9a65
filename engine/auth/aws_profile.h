// The files of aws-cli: ~/.aws/config and ~/.aws/credentials, and what a profile in them says.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "engine/base/variables.h"
#include "stage_model/result.h"

namespace stage_model::auth {

using AwsSettings = std::map<std::string, std::string>;  // names in lower case

// Sections of a file. Indented lines belong to the setting above: "s3 =", then "  endpoint_url =
// …", is "s3.endpoint_url". Pure.
std::map<std::string, AwsSettings> parse_aws_file(std::string_view text);

struct AwsProfile {
  std::string name;    // AWS_PROFILE, AWS_DEFAULT_PROFILE, "default"
  bool named = false;  // by a variable: must exist
  bool found = false;  // in one of the files
  // Of both files; those of the credentials file win. With those of its "services". Secret.
  AwsSettings settings;
  std::string files;  // what was looked at and could not be read, for messages; may be ""

  std::string setting(const std::string& key) const {
    const auto at = settings.find(key);
    return at == settings.end() ? std::string() : at->second;
  }
};

// Reads AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE, else those in the home directory. Files
// that are not there are empty.
AwsProfile read_aws_profile(const Variables& variables);

}  // namespace stage_model::auth
