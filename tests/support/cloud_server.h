// tests/support/cloud_server.py; its docstring says what it can do. Only for tests.
#pragma once

#include <string>

#include "tests/support/child.h"

namespace stage_model::test {

class CloudServer {
 public:
  // `life`: seconds that each key or token holds.
  explicit CloudServer(int life = 3600);
  const std::string& host() const { return host_; }  // "127.0.0.1:PORT"
  std::string origin() const { return "http://" + host_; }
  std::string log() const;  // a line per request

 private:
  Child child_;
  std::string host_;
};

// A file of that content, removed at the end.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& content);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace stage_model::test
