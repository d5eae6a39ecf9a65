#include "stage_model/record.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "engine/base/fd.h"
#include "engine/base/text.h"
#include "engine/contract/secure_file.h"
#include "engine/contract/toml_reader.h"
#include "engine/contract/toml_writer.h"

namespace stage_model {
namespace {

constexpr std::size_t kMaxRecordBytes = 1 << 20;
constexpr char kName[] = "record";
constexpr std::array<const char*, 3> kStates = {"pending", "staged", "failed"};

std::string directory_of(const std::string& state_dir, const std::string& job) {
  return state_dir + "/" + job;
}

// Makes (0700) or checks a directory that only we may write to, below `parent` (or a path).
Result<Fd> own_directory(int parent, const std::string& name, const std::string& path) {
  const auto wrong = [&path](const std::string& why) {
    return fail(ExitCode::kDestination, path + ": " + why);
  };
  if (::mkdirat(parent, name.c_str(), 0700) != 0 && errno != EEXIST) {
    return wrong("cannot be created: " + errno_text(errno));
  }
  Fd fd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return wrong("cannot be opened: " + errno_text(errno));
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return wrong(errno_text(errno));
  if (info.st_uid != ::geteuid()) {
    return wrong("belongs to uid " + std::to_string(info.st_uid) + "; it must be root's");
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) return wrong("is writable by group or others");
  return fd;
}

Status write_all(int fd, const std::string& text, const std::string& path) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(fd, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return fail(ExitCode::kDestination, path + ": cannot be written: " + errno_text(errno));
    }
    done += static_cast<std::size_t>(count);
  }
  return {};
}

std::string to_toml(const Record& record) {
  std::string out = "format = " + std::to_string(Record::kFormat) + "\n";
  const auto text = [&out](const char* key, const std::string& value) {
    out += std::string(key) + " = " + toml_text(value) + "\n";
  };
  text("state", kStates.at(static_cast<std::size_t>(record.state)));
  out += "code = " + std::to_string(static_cast<int>(record.code)) + "\n";
  text("node", record.node);
  text("reason", one_line(record.reason));
  text("user", record.user);
  out += "uid = " + std::to_string(record.uid) + "\ngid = " + std::to_string(record.gid) + "\n";
  text("root", record.root);
  for (const StagedModel& model : record.models) {
    out += "\n[[models]]\n";
    text("name", model.name);
    text("directory", model.directory);
  }
  return out;
}

void read_models(TomlReader& reader, const std::string& path, std::vector<StagedModel>& models) {
  const toml::array* items = reader.array("models");
  if (items == nullptr) return;
  for (const toml::node& item : *items) {
    const toml::table* table = item.as_table();
    if (table == nullptr) return reader.reject("models", "must be an array of tables");
    TomlReader part(*table, path, "models", ExitCode::kStopped);
    StagedModel model;
    part.require("directory");
    part.read("name", model.name);
    part.read("directory", model.directory);
    if (const Status status = part.finish(); !status) return reader.reject(status.error());
    models.push_back(std::move(model));
  }
}

Result<Record> from_toml(const std::string& text, const std::string& path) {
  const auto table = parse_toml(text, path, ExitCode::kStopped);
  if (!table) return tl::unexpected<Error>(table.error());
  Record record;
  TomlReader reader(*table, path, "", ExitCode::kStopped);
  for (const char* key : {"format", "state", "uid", "gid"}) reader.require(key);
  std::int64_t format = 0;
  reader.read_integer("format", 1, INT32_MAX, format);
  if (format != Record::kFormat) reader.reject("format", "is not one that this version knows");
  std::string state;
  reader.read("state", state);
  bool known = false;
  for (std::size_t i = 0; i < kStates.size(); ++i) {
    if (state != kStates.at(i)) continue;
    record.state = static_cast<RecordState>(i);
    known = true;
  }
  if (!known) reader.reject("state", "is neither pending, staged nor failed");
  reader.read_integer("code", 0, 255, record.code);
  reader.read("node", record.node);
  reader.read("reason", record.reason);
  reader.read("user", record.user);
  reader.read_integer("uid", 0, UINT32_MAX - 1, record.uid);
  reader.read_integer("gid", 0, UINT32_MAX - 1, record.gid);
  reader.read("root", record.root);
  read_models(reader, path, record.models);
  if (const Status status = reader.finish(); !status) return tl::unexpected<Error>(status.error());
  return record;
}

Status check_job(const std::string& job) {
  if (valid_job(job)) return {};
  return fail(ExitCode::kUsage, "job " + quote(job) + " is not of the form [A-Za-z0-9._-]{1,64}");
}

}  // namespace

std::string record_path(const std::string& state_dir, const std::string& job) {
  return directory_of(state_dir, job) + "/" + kName;
}

Status write_record(const std::string& state_dir, const std::string& job, const Record& record) {
  if (Status status = check_job(job); !status) return status;
  const auto state = own_directory(AT_FDCWD, state_dir, state_dir);
  if (!state) return tl::unexpected<Error>(state.error());
  const auto directory = own_directory(state->get(), job, directory_of(state_dir, job));
  if (!directory) return tl::unexpected<Error>(directory.error());

  const std::string path = record_path(state_dir, job);
  const std::string temporary = std::string(kName) + "." + std::to_string(::getpid());
  const Fd file(::openat(directory->get(), temporary.c_str(),
                         O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) {
    return fail(ExitCode::kDestination, path + ": cannot be written: " + errno_text(errno));
  }
  Status status = write_all(file.get(), to_toml(record), path);
  if (status && (::fsync(file.get()) != 0 ||
                 ::renameat(directory->get(), temporary.c_str(), directory->get(), kName) != 0)) {
    status = fail(ExitCode::kDestination, path + ": cannot be written: " + errno_text(errno));
  }
  if (!status) ::unlinkat(directory->get(), temporary.c_str(), 0);
  return status;
}

Result<MaybeRecord> read_record(const std::string& state_dir, const std::string& job) {
  if (const Status status = check_job(job); !status) return tl::unexpected<Error>(status.error());
  const std::string path = record_path(state_dir, job);
  const auto file = read_trusted_file(path, kMaxRecordBytes, /*follow=*/false, ExitCode::kStopped);
  if (!file) return tl::unexpected<Error>(file.error());
  if (!file->found) return MaybeRecord{};
  auto record = from_toml(file->text, path);
  if (!record) return tl::unexpected<Error>(record.error());
  return MaybeRecord{true, std::move(*record)};
}

Status remove_record(const std::string& state_dir, const std::string& job) {
  if (Status status = check_job(job); !status) return status;
  // libstdc++ walks with openat and O_NOFOLLOW (since GCC 11.3), so a link inside is removed, not
  // followed.
  std::error_code error;
  std::filesystem::remove_all(directory_of(state_dir, job), error);
  if (error && error != std::errc::no_such_file_or_directory) {
    return fail(ExitCode::kDestination,
                directory_of(state_dir, job) + ": cannot be removed: " + error.message());
  }
  return {};
}

}  // namespace stage_model
