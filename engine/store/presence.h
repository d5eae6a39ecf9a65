// What is there already: files that a valid manifest vouches for, and extents that a journal claims
// and a second look confirms.
#pragma once

#include <sys/stat.h>

#include "engine/store/manifest.h"
#include "engine/store/state.h"
#include "stage_model/result.h"

namespace stage_model::store {

// Fills items, published, dest_*, adopted (and temp, if something was adopted).
// Errors: kDestination.
Status look(State* state);

// Is `st` still the file that was sealed?
bool same_file(const struct stat& st, const Manifest::File& record);

// Is the directory exactly the listed model, by its manifest and the files really there?
bool is_exactly(int dir, const Manifest& manifest, const plan::Listing& listing, Compare compare,
                unsigned threads);

// The manifest of a directory; nothing if there is none or it is not valid.
std::optional<Manifest> load_manifest(int dir);

}  // namespace stage_model::store
