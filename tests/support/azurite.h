// Azurite, the Azure Blob emulator, for the length of a test program; and what tests need to fill
// it. The program's path is in $STAGE_AZURITE (tests/run.sh sets it). Only for tests.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/child.h"

namespace stage_model::test {

class Azurite {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  Azurite();

  static constexpr char kAccount[] = "devstoreaccount1";
  static const char* key();
  const std::string& endpoint() const { return endpoint_; }  // "http://127.0.0.1:PORT/ACCOUNT"
  // AZURE_STORAGE_BLOB_ENDPOINT, and no proxy; no credentials.
  std::map<std::string, std::string> variables() const;

  // Each ends the test program with a message if Azurite refuses.
  void make_container(const std::string& name);
  void make_public(const std::string& name);  // a container that anybody may list and read
  void put(const std::string& container, const std::string& blob, const std::string& bytes,
           const Headers& more = {});
  void set_metadata(const std::string& container, const std::string& blob, const Headers& metadata);

  // A SAS of a container; times in ISO form, "" for none.
  static std::string sas(const std::string& container, const std::string& permissions,
                         const std::string& starts, const std::string& expires);
  // One that reads a single blob.
  static std::string sas_of_blob(const std::string& container, const std::string& blob,
                                 const std::string& expires);

 private:
  void call(const std::string& method, const std::string& path,
            const std::vector<std::pair<std::string, std::string>>& query, const Headers& headers,
            const std::string& body);

  Child child_;
  std::string origin_, endpoint_;
};

}  // namespace stage_model::test
