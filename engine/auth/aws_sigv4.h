// AWS Signature Version 4 in the header, for requests whose path is signed as it is sent (S3's
// rule: encoded once, never normalised) and whose body is empty. Pure functions; thread-safe.
#pragma once

#include <ctime>
#include <string>

#include "engine/http/request.h"

namespace stage_model::auth {

struct AwsKeys {
  std::string id;
  std::string secret;
  std::string session;  // of temporary keys; "" otherwise
};

struct AwsScope {
  std::string region = "us-east-1";
  std::string service = "s3";
};

// What is signed: AWS's "canonical request". `signed_headers` is set to their names, "a;b;c".
std::string aws_canonical_request(const http::Request& request, std::string& signed_headers);

// Adds X-Amz-Date, X-Amz-Security-Token, for S3 X-Amz-Content-Sha256, and Authorization over all
// headers that are there and Host.
void aws_sign(http::Request& request, const AwsKeys& keys, const AwsScope& scope, std::time_t now);

}  // namespace stage_model::auth
