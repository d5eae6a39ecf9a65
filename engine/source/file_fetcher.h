// Reads files of a mounted file system in parallel, and notices when one changes meanwhile.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>

#include "engine/source/source.h"

namespace stage_model::source {

// Size, modification time and inode: another one means another file.
std::string file_etag(const struct stat& status);

std::string describe_errno();  // of the current errno

// `concurrency` threads that block in pread: a file system that hangs holds them (and the
// destructor) as it would hold any reader; whoever supervises the process ends it. `started`: of
// the run, by now(): the deadline counts from there.
std::unique_ptr<Fetcher> make_file_fetcher(const TransferOptions& options, double started);

}  // namespace stage_model::source
