// Removal of a staged directory as its user, below a configured root, without following a link.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "stage_model/result.h"

namespace stage_model::spank {

struct RemovalRequest {
  std::string root;         // absolute; may itself be a link, the admin configured it
  std::string path;         // relative to it
  std::string hidden_name;  // what it is called, beside its old place, while it goes away
  uid_t uid = 0;
  gid_t gid = 0;
  double limit_s = 60;
  // Asked after nobody can find the directory any more and before its first file goes. False: it
  // is put back. Runs in this process.
  std::function<bool()> still_unused;
};

// A directory that is not there is fine. Errors: kDestination.
Status remove_directory(const RemovalRequest& request);

}  // namespace stage_model::spank
