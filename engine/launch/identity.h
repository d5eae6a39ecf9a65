// Whom the engine runs as.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace stage_model::launch {

struct Identity {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  // what initgroups would set; just the gid without a user name
  std::string name;           // "" if unknown
  std::string home;           // "" if there is no passwd entry or its directory is missing
};

// Asks the user database (NSS), which may block for as long as a directory service does: never
// call it on the loop. An unknown user is no error: the ids are what counts.
Identity look_up_identity(uid_t uid, gid_t gid, const std::string& user);

}  // namespace stage_model::launch
