// What a job asks for with its flags: built part by part as they come, carried as one line of text
// from the submit host to the nodes, checked on both sides by the same functions. Pure; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stage_model/config.h"
#include "stage_model/result.h"

namespace stage_model {

struct ModelRequest {
  std::string name;  // "" or [A-Z][A-Z0-9_]*
  std::string url;
  friend bool operator==(const ModelRequest&, const ModelRequest&) = default;
};

struct JobRequest {
  std::vector<ModelRequest> models;
  std::string dest;  // "" : the default place; the directory above them where there are several
  std::vector<std::string> include;
  std::vector<std::string> exclude;
};

// What is known of the site's rules. On a submit host without the file, `known` is false: the
// schemes and the roots are then left to the prolog, which checks everything again.
struct Site {
  Config config;
  bool known = true;
};

// Each takes one flag's value. Errors: kUsage, without the flag's name.
Status add_model(JobRequest& request, std::string_view text, const Site& site);
Status set_dest(JobRequest& request, std::string_view text, const Site& site);
Status add_filter(std::vector<std::string>& filters, std::string_view text);

// The configured root that `path` lies strictly below; "" if none.
std::string root_of(std::string_view path, const std::vector<std::string>& roots);

// Printable ASCII, one line.
std::string encode_request(const JobRequest& request);

// The prolog's side: the text may have been forged by the user, so everything is bounded and every
// part is checked again.
Result<JobRequest> decode_request(std::string_view text, const Site& site);

}  // namespace stage_model
