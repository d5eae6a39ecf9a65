// The hidden directory next to DEST in which a model is built. Its name is short whatever DEST is
// called, so that names up to the file system's limit work.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/base/fd.h"
#include "engine/store/destination.h"
#include "engine/store/journal.h"
#include "engine/store/seams.h"
#include "stage_model/result.h"

namespace stage_model::store {

inline constexpr std::string_view kTempPrefix = ".stage-model-";
inline constexpr char kAdoptedPath[] = ".stage-model/adopted";  // what a dead run left, moved in

// ".stage-model-" + 16 hex digits of DEST's last component + "-".
std::string temp_prefix(const std::string& destination_name);

struct TempDirectory {
  std::string name;  // in the parent
  Fd dir;            // 0700 until it is sealed
  std::unique_ptr<JournalWriter> journal;
};

// Creates it with its journal and takes the (only advisory) lock on that. Errors: kDestination.
Result<TempDirectory> make_temp_directory(const Destination& destination, const std::string& source,
                                          const Seams& seams);

}  // namespace stage_model::store
