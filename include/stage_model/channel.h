// The two inherited descriptors between stage-launch and stage-engine.
//
// Credentials (launcher → engine): descriptor number in $STAGE_MODEL_CREDENTIALS_FD; "NAME=VALUE"
// items, each ended by NUL, then EOF. Read once at start, then closed.
//
// Status (engine → launcher): descriptor number in $STAGE_MODEL_STATUS_FD, a pipe; one line each:
//   "alive DONE TOTAL\n"      at least every 2 s while the engine works; bytes on this node's disk
//   "stage NAME\n"            list, presence, move, verify, publish: for messages
//   "failed CODE NODE REASON\n" once, before a non-zero exit; CODE an ExitCode, NODE where the
//                             first cause was seen ("-" if unknown), REASON one line for a human
//   "connected\n"             MPI_Init is done
//   "staged DIRECTORY\n"      once, after publish
// Lines are at most 4,096 bytes; the reader drops longer ones. Both sides ignore unknown words.
//
// $STAGE_MODEL_NODE: this node's name; $STAGE_MODEL_NODES: the number of nodes, which MPI_Comm_size
// must equal; $STAGE_MODEL_ADDRESS: the address the launchers use, whose interface MPI may use.
#pragma once

namespace stage_model {

inline constexpr char kCredentialsFdVariable[] = "STAGE_MODEL_CREDENTIALS_FD";
inline constexpr char kStatusFdVariable[] = "STAGE_MODEL_STATUS_FD";
inline constexpr char kNodeVariable[] = "STAGE_MODEL_NODE";
inline constexpr char kNodesVariable[] = "STAGE_MODEL_NODES";
inline constexpr char kAddressVariable[] = "STAGE_MODEL_ADDRESS";
inline constexpr int kMaxStatusLine = 4096;

}  // namespace stage_model
