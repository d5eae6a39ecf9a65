// The job as slurmd describes it to prolog and epilog.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "spank/slurm_seam.h"
#include "stage_model/result.h"

namespace stage_model::spank {

struct Job {
  std::uint32_t id = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  std::string user;                // login name, may be empty
  std::string node;                // this one
  std::vector<std::string> nodes;  // in Slurm's order, the same on every node
  std::uint32_t index = 0;         // nodes[index] == node
};

// Id, uid, gid and user alone: enough to write a record. Errors: kStopped.
Result<Job> job_identity();

// Adds the nodes. Errors: kStopped.
Status add_nodes(SlurmNode& slurm, std::uint32_t max_nodes, Job& job);

// The directory name that stands for the user: the login name, or the uid where that does not do.
std::string user_directory(const Job& job);

}  // namespace stage_model::spank
