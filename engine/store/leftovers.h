// Temporary directories of earlier runs next to DEST. A live owner's is left alone. A dead one's
// may be adopted: moved whole into our own temporary directory by one rename, so that of several
// runs only one gets it, and who looks meanwhile sees it gone. The others are removed; those for
// other destinations once they are old, or where their space is wanted.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/fd.h"
#include "engine/store/destination.h"
#include "engine/store/journal.h"
#include "engine/store/manifest.h"
#include "engine/store/seams.h"
#include "engine/store/temp_directory.h"
#include "engine/store/tree.h"
#include "stage_model/result.h"

namespace stage_model::store {

// What we took over; `dir` lies in our temporary directory.
struct Adopted {
  Fd dir;
  Journal journal;
  std::optional<Manifest> manifest;  // it was sealed but not published
};

struct LeftoverRules {
  double partial_keep_s = 0;
  std::string source;  // of what we want; other sources' leftovers are of no use
  bool adopt = true;   // false: only remove what is dead
};

// Removes what is dead and of no use, for this destination; for other ones in the same parent only
// what is older than partial_keep_s. Adopts the best of the rest and then fills *temp (created with
// a journal before anything is moved). Errors: kDestination where *temp cannot be made.
Result<std::unique_ptr<Adopted>> take_leftovers(const Destination& destination,
                                                const LeftoverRules& rules, const Seams& seams,
                                                const std::string& own_temp_name,
                                                std::optional<TempDirectory>* temp);

struct Leftover {
  std::string name;  // in the parent
  double age = 0;
  Usage usage;  // what its removal gives back
};

// This user's in the same parent, for whatever destination, that no living run owns; the oldest
// first. Without `own_temp_name`.
std::vector<Leftover> dead_leftovers(const Destination& destination, const Seams& seams,
                                     const std::string& own_temp_name);

// False: another run was quicker.
bool remove_leftover(const Destination& destination, const Leftover& leftover);

}  // namespace stage_model::store
