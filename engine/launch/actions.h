// What the coordinator wants done. The driver (launcher.cc) carries actions out in the order in
// which they were asked for; the simulator does so under virtual time.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "engine/launch/verdict.h"
#include "engine/launch/wire.h"

namespace stage_model::launch {

// The other launchers. A neighbour is the index of the parent or of a child in the tree.
struct Send {
  std::vector<std::uint32_t> to;  // neighbours
  MessageType type = MessageType::kBeat;
  std::string body;
};
struct CloseLink {
  std::uint32_t neighbour = 0;
};
struct FindParent {};     // look for it until it is found; also again, after a link that was lost
struct StopListening {};  // latecomers are not let in any more
struct FinishLinks {};    // end each link once all that was said has gone; look for nobody any more

// The engine.
struct StartEngine {
  std::uint32_t run = 0;
};
struct EndEngine {
  bool at_once = false;  // false: SIGTERM; true: SIGKILL
};

// What PMIx waits for.
struct CompleteFence {
  std::uint64_t ticket = 0;
  std::string data;
};
struct CompleteModex {
  std::uint64_t ticket = 0;
  std::int32_t status = 0;
  std::string data;
};
struct LookUpPublished {  // what this node's engine has published, for published(ask, …)
  std::uint64_t ask = 0;
};

struct WriteRecord {
  Outcome outcome;
};
struct Log {
  std::string text;  // one line
};
struct End {};  // nothing more will come; the driver's loop ends

using Action =
    std::variant<Send, CloseLink, FindParent, StopListening, FinishLinks, StartEngine, EndEngine,
                 CompleteFence, CompleteModex, LookUpPublished, WriteRecord, Log, End>;
using Actions = std::vector<Action>;

}  // namespace stage_model::launch
