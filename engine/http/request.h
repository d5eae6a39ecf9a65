// A request before and after it is signed, and who signs it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/http/url.h"
#include "stage_model/result.h"

namespace stage_model::http {

struct Request {
  std::string method = "GET";
  std::string origin;  // "https://host[:port]"
  std::string path;    // encoded once, sent as it stands
  Query query;         // decoded; encoded once when it is sent
  std::vector<std::pair<std::string, std::string>> headers;

  std::string url() const {
    std::string out = origin + path;
    if (!query.empty()) out.append("?").append(format_query(query));
    return out;
  }
};

// What the client asks of an identity (engine/auth/identity.h). Thread-safe; never blocks.
class Signer {
 public:
  virtual ~Signer() = default;

  // Adds what proves the identity. Called right before every attempt, since some proofs hold for
  // minutes only. Errors: kSource.
  virtual Status sign(Request& request) const = 0;

  // Is there a proof to sign with? If not, one is on its way: ask again soon.
  virtual bool ready() const { return true; }

  // Numbers the proofs: noted by the client before it signs.
  virtual unsigned generation() const { return 0; }

  // The store refused the proof of a request (by its dialect: mostly 401) signed with proof
  // `generation`. True: another proof is there or on its way, so once more.
  virtual bool renew(unsigned generation) const {
    (void)generation;
    return false;
  }
};

using SignerPtr = std::shared_ptr<const Signer>;

}  // namespace stage_model::http
