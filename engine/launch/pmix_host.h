// The PMIx server that the engine's MPI_Init finds: what slurmstepd is to a step. One per process,
// since PMIx's server is. Its callbacks come on PMIx's thread and are handed to the loop;
// everything here is called and calls back on the loop's thread. Nothing depends on how many fences
// an MPI does.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/launch/loop.h"
#include "stage_model/result.h"

namespace stage_model::launch {

struct PmixEvents {
  // The engine has entered a fence: answer with finish_fence(ticket). Members ascending; empty:
  // all.
  std::function<void(std::uint64_t ticket, std::vector<std::uint32_t> members, std::string data)>
      fence;
  // It asks for what another rank has published: answer with finish_modex(ticket).
  std::function<void(std::uint64_t ticket, std::uint32_t rank)> modex;
  std::function<void(int status, std::string message)> aborted;  // MPI_Abort
  std::function<void()> finalized;                               // MPI_Finalize
};

struct PmixJob {
  std::string name;  // of the PMIx namespace
  std::uint32_t me = 0;
  std::vector<std::string> nodes;
  std::string directory;  // the user's own, for MPI's session files
  uid_t uid = 0;
  gid_t gid = 0;
};

class PmixHost {
 public:
  // `directory`: the server's own files. Errors: kFabric.
  static Result<std::unique_ptr<PmixHost>> start(std::shared_ptr<Mailbox> mailbox,
                                                 const PmixJob& job, const std::string& directory);
  // Does not finalize PMIx: that waits for its thread. The process is about to end.
  virtual ~PmixHost() = default;

  // Begins a namespace (the one before is given up) and makes this node's engine known in it.
  // Returns the variables that the engine needs to find the server. Errors: kFabric.
  virtual Result<std::vector<std::string>> begin(const PmixJob& job, PmixEvents events) = 0;

  virtual void finish_fence(std::uint64_t ticket, const std::string& data) = 0;
  virtual void finish_modex(std::uint64_t ticket, int status, const std::string& data) = 0;
  // What this node's engine has published, once it has.
  virtual void publish_local(std::function<void(int status, std::string data)> answer) = 0;
};

std::string pmix_build_version();    // of the headers
std::string pmix_library_version();  // of the library found at run time

}  // namespace stage_model::launch
