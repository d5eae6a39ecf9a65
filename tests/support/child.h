// A program that runs for the length of a test: started, waited for until it says that it is
// ready, ended by its process id. Only for tests.
#pragma once

#include <sys/types.h>

#include <string>
#include <thread>
#include <vector>

namespace stage_model::test {

// Ends the test program: what it needs is not there.
[[noreturn]] void give_up(const std::string& what);

// The path of a server's program in $NAME, which tests/run.sh sets by `script`.
std::string program_of(const char* name, const char* script);

class Child {
 public:
  // Runs `command` with pipes on stdin and stdout. Ends the test program with a message if it
  // cannot be started.
  explicit Child(const std::vector<std::string>& command);
  ~Child();  // TERM, then KILL
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // The rest of the first line of its output that contains `word`, after it. "" if it ends before.
  // Waits 30 s at most. Call once: what is written later is thrown away.
  std::string wait_for(const std::string& word);

 private:
  pid_t pid_ = -1;
  int input_ = -1, output_ = -1;
  std::thread drain_;  // a full pipe would stop the program
};

// tests/support/rude_server.py; its docstring says what it can do.
class RudeServer {
 public:
  // `pem`: a key and certificate for TLS, "" for plain HTTP.
  explicit RudeServer(const std::string& pem = "");
  const std::string& origin() const { return origin_; }  // "http[s]://127.0.0.1:PORT"

 private:
  Child child_;
  std::string origin_;
};

}  // namespace stage_model::test
