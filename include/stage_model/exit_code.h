// What the three programs tell each other, and their callers, about how a staging ended.
#pragma once

namespace stage_model {

// Exit codes of stage-engine and stage-launch, and the exit code of a job whose staging failed.
// Stable: scripts rely on them (docs/user-guide.md lists them).
enum class ExitCode : int {
  kStaged = 0,
  kUsage = 2,        // bad option, bad URL, bad configuration
  kSource = 3,       // source or identity: not found, not allowed, nothing there
  kDestination = 4,  // destination or space
  kTransfer = 5,     // the download failed for good
  kFabric = 6,       // MPI, PMIx or the launchers' network
  kIntegrity = 7,    // bytes are not what they should be
  kStopped = 8,      // cancel, deadline, peer lost
};

}  // namespace stage_model
