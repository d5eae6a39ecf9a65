// moto, an S3 server that verifies signatures, for the length of a test program. $STAGE_MOTO is a
// Python that has it (tests/run.sh sets it). Only for tests.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/child.h"

namespace stage_model::test {

class S3Server {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  S3Server();
  const std::string& origin() const { return origin_; }
  // The endpoint, keys, and neither proxy nor files of the user.
  std::map<std::string, std::string> variables() const;

  // Each ends the test program with a message if the server refuses.
  void make_bucket(const std::string& name) const;
  void put(const std::string& bucket, const std::string& key, const std::string& bytes,
           const Headers& headers = {}) const;
  void restore(const std::string& bucket, const std::string& key) const;

 private:
  std::string call(const std::string& method, const std::string& path,
                   const std::vector<std::pair<std::string, std::string>>& query,
                   const Headers& headers, const std::string& body) const;

  Child child_;
  std::string origin_, id_, secret_;
};

}  // namespace stage_model::test
