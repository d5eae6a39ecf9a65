#include "tests/support/cloud_server.h"

#include <unistd.h>

#include <cstdlib>

#include "tests/support/upload.h"

namespace stage_model::test {

CloudServer::CloudServer(int life)
    : child_({"python3", STAGE_TEST_SUPPORT "/cloud_server.py", std::to_string(life)}) {
  const std::string port = child_.wait_for("port ");
  if (port.empty()) {
    give_up("cloud_server.py does not start: is python3 there?");
  }
  host_ = "127.0.0.1:" + port;
}

std::string CloudServer::log() const {
  http::Request request;
  request.origin = origin();
  request.path = "/log";
  return upload(request, "");
}

ScratchFile::ScratchFile(const std::string& content) {
  std::string path = "/tmp/stage-test-XXXXXX";
  const int file = mkstemp(path.data());
  if (file < 0 ||
      write(file, content.data(), content.size()) != static_cast<ssize_t>(content.size())) {
    give_up("no scratch file");
  }
  close(file);
  path_ = path;
}

ScratchFile::~ScratchFile() { unlink(path_.c_str()); }

}  // namespace stage_model::test
