#include "tests/support/s3_server.h"

#include <ctime>
#include <sstream>

#include "engine/auth/aws_sigv4.h"
#include "tests/support/upload.h"

namespace stage_model::test {

S3Server::S3Server()
    : child_({program_of("STAGE_MOTO", "moto.sh"), STAGE_TEST_SUPPORT "/s3_server.py"}) {
  std::istringstream words(child_.wait_for("ready "));
  std::string port;
  words >> port >> id_ >> secret_;
  if (secret_.empty()) give_up("moto does not start: $STAGE_MOTO");
  origin_ = "http://127.0.0.1:" + port;
}

std::map<std::string, std::string> S3Server::variables() const {
  return {{"AWS_ENDPOINT_URL_S3", origin_},
          {"AWS_ACCESS_KEY_ID", id_},
          {"AWS_SECRET_ACCESS_KEY", secret_},
          {"AWS_CONFIG_FILE", "/nonexistent"},
          {"AWS_SHARED_CREDENTIALS_FILE", "/nonexistent"},
          {"AWS_EC2_METADATA_DISABLED", "true"},
          {"no_proxy", "*"}};
}

void S3Server::make_bucket(const std::string& name) const { call("PUT", "/" + name, {}, {}, ""); }

void S3Server::put(const std::string& bucket, const std::string& key, const std::string& bytes,
                   const Headers& headers) const {
  call("PUT", "/" + bucket + "/" + http::encode_path(key), {}, headers, bytes);
}

void S3Server::restore(const std::string& bucket, const std::string& key) const {
  call("POST", "/" + bucket + "/" + http::encode_path(key), {{"restore", ""}}, {},
       "<RestoreRequest><Days>1</Days></RestoreRequest>");
}

std::string S3Server::call(const std::string& method, const std::string& path,
                           const std::vector<std::pair<std::string, std::string>>& query,
                           const Headers& headers, const std::string& body) const {
  http::Request request;
  request.method = method;
  request.origin = origin_;
  request.path = path;
  request.query = query;
  request.headers = headers;
  // The header says that the body is empty; moto checks the signature, not the body's hash.
  auth::aws_sign(request, {id_, secret_, ""}, {"us-east-1", "s3"}, std::time(nullptr));
  return upload(request, body);
}

}  // namespace stage_model::test
