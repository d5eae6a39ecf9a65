// Where a bucket is: s3://BUCKET/PREFIX/ and the variables that name endpoints. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "engine/auth/aws_profile.h"
#include "engine/base/variables.h"
#include "stage_model/result.h"

namespace stage_model::source {

struct S3Url {
  std::string bucket;
  std::string path;  // of an object or a prefix, as it stands: bytes
};

// Errors: kUsage.
Result<S3Url> parse_s3_url(std::string_view url);

// What does not depend on the region.
struct S3Service {
  std::string endpoint;    // of a server that is not AWS: "http://host:port[/base]", or ""
  bool fips = false;       // AWS_USE_FIPS_ENDPOINT
  bool dualstack = false;  // AWS_USE_DUALSTACK_ENDPOINT: IPv6 too
  bool in_host = false;  // addressing_style = virtual in the profile: the bucket, at `endpoint` too
};

// Order: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the profile's for S3, the profile's. Errors:
// kSource.
Result<S3Service> find_s3_service(const Variables& variables, const auth::AwsProfile& profile);

struct S3Place {
  std::string origin;  // "https://host[:port]"
  std::string base;    // encoded path of the bucket, without slash at the end; "" if in the host
};

// The bucket in the host name on AWS; in the path for other servers, unless the profile wants it
// otherwise, and for names that no certificate covers (with dots) or that are no host names.
S3Place s3_place(const S3Service& service, const std::string& bucket, const std::string& region);

// Lower case, digits and dashes: fit for a host name.
bool is_region(std::string_view text);

}  // namespace stage_model::source
