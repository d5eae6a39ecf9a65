#include "engine/store/errors.h"

#include <fmt/core.h>

#include <cstring>

namespace stage_model::store {
namespace {

const char* advice(int error) {
  switch (error) {
    case EROFS:
      return " (mounted read-only: the node's disk may be broken)";
    case EACCES:
    case EPERM:
      return " (the job's user may not write there; is the file system mounted?)";
    case ENOTDIR:
      return " (a part of the path is a file)";
    case ENAMETOOLONG:
      return " (longer than this file system takes)";
    case ENOSPC:
      return " (free some space or inodes, or choose another destination)";
    case EDQUOT:
      return " (ask for more quota, or choose another destination)";
    case EMFILE:
    case ENFILE:
      return " (raise the limit on open files)";
    case EIO:
      return " (the disk reports an error: tell the administrator)";
    default:
      return "";
  }
}

}  // namespace

tl::unexpected<Error> disk_error(std::string_view what, std::string_view path, int error) {
  return fail(ExitCode::kDestination, fmt::format("cannot {} {}: {}{}", what, printable(path),
                                                  strerrordesc_np(error), advice(error)));
}

}  // namespace stage_model::store
