// file:///DIRECTORY or file:///FILE: a shared file system, or a disk of rank 0. The path is taken
// literally, never decoded.
//
// Links: a link to a file is staged as that file (caches of models are built of such links); a link
// to a directory is refused, since following it may leave the model or never end.
#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/variables.h"
#include "engine/source/entries.h"
#include "engine/source/file_fetcher.h"
#include "engine/source/register.h"
#include "engine/source/show.h"

namespace stage_model::source {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "file://";
// Our own notes in a directory that was staged before: no part of the model.
constexpr char kOwnDirectory[] = ".stage-model";

tl::unexpected<Error> refuse(const std::string& path, const std::string& why) {
  return fail(ExitCode::kSource, fmt::format("{}: {}", show(path), why));
}

// The same directory seen from two nodes: device numbers differ between them, these do not. A copy
// of it on another node's own disk is told apart.
std::string mark_of(const struct stat& status) {
  return fmt::format("{:x}-{:x}", status.st_ino,
                     status.st_mtim.tv_sec * 1000000000LL + status.st_mtim.tv_nsec);
}

class File final : public Source {
 public:
  explicit File(std::string path) : path_(std::move(path)) {}

  Result<plan::Listing> list() override {
    struct stat status {};
    if (stat(path_.c_str(), &status) != 0) return refuse(path_, describe_errno());
    mark_ = mark_of(status);
    Result<plan::Listing> listing =
        S_ISDIR(status.st_mode) ? list_directory() : list_file(path_, status);
    if (listing) listing->resolved = mark_;
    return listing;
  }

  Status adopt(const std::string& resolved) override {
    mark_ = resolved;
    return {};
  }

  bool reachable() const override {
    struct stat status {};
    return stat(path_.c_str(), &status) == 0 && mark_of(status) == mark_;
  }

  Result<std::unique_ptr<Fetcher>> fetcher(const TransferOptions& options) override {
    return make_file_fetcher(options, started_);
  }

  std::string identity() const override { return "the job's user"; }

 private:
  std::string display() const { return std::string(kPrefix) + show(path_); }

  static Result<Entry> to_entry(const std::string& path, const struct stat& status) {
    if (!S_ISREG(status.st_mode)) {
      return refuse(path,
                    "is neither a file nor a directory: remove it or stage what is beside it");
    }
    Entry entry;
    entry.key = path;
    entry.size = static_cast<std::uint64_t>(status.st_size);
    entry.etag = file_etag(status);
    return entry;
  }

  Result<plan::Listing> list_file(const std::string& path, const struct stat& status) {
    if (path_.ends_with('/')) return refuse(path_, "is not a directory");
    Result<Entry> entry = to_entry(path, status);
    if (!entry) return tl::unexpected(entry.error());
    return make_single(std::move(*entry), display());
  }

  Result<plan::Listing> list_directory() {
    std::string prefix = path_;
    while (prefix.size() > 1 && prefix.ends_with('/')) prefix.pop_back();
    if (!prefix.ends_with('/')) prefix += '/';

    std::vector<Entry> entries;
    std::error_code error;
    fs::recursive_directory_iterator at(prefix, error);
    for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
      const std::string path = at->path().string();
      if (at.depth() == 0 && at->path().filename() == kOwnDirectory) {
        at.disable_recursion_pending();
        continue;
      }
      Result<Entry> entry = look_at(path);
      if (!entry) return tl::unexpected(entry.error());
      entries.push_back(std::move(*entry));
    }
    if (error) return refuse(path_, error.message());
    return make_listing(std::move(entries), prefix, display());
  }

  static Result<Entry> look_at(const std::string& path) {
    struct stat link {};
    struct stat status {};
    if (lstat(path.c_str(), &link) != 0) return refuse(path, describe_errno());
    if (S_ISDIR(link.st_mode)) {
      Entry entry;
      entry.key = path;
      entry.directory = true;
      return entry;
    }
    if (stat(path.c_str(), &status) != 0) {
      return refuse(path,
                    S_ISLNK(link.st_mode) ? "is a link that leads nowhere" : describe_errno());
    }
    if (S_ISDIR(status.st_mode)) {
      return refuse(path,
                    "is a link to a directory, which is not followed: put the directory there "
                    "or stage it by its own path");
    }
    return to_entry(path, status);
  }

  std::string path_;
  double started_ = now();
  std::string mark_;
};

bool is_file_url(std::string_view url, const Variables&) { return url.starts_with(kPrefix); }

Result<std::unique_ptr<Source>> open_file(std::string_view url, const Variables&,
                                          const TransferOptions&) {
  url.remove_prefix(kPrefix.size());
  if (!url.starts_with('/') || url.find('\0') != std::string_view::npos) {
    return fail(ExitCode::kUsage, "file:// takes an absolute path: file:///PATH");
  }
  return std::make_unique<File>(std::string(url));
}

}  // namespace

extern const Kind kFile;
const Kind kFile = {"file:///PATH", is_file_url, open_file};

}  // namespace stage_model::source
