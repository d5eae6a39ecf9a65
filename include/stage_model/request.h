// What a job asks for with its flags: built part by part as they come, carried as one line of text
// from the submit host to the nodes, checked on both sides by the same functions. Pure; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stage_model/config.h"
#include "stage_model/result.h"

namespace stage_model {

// Job control variables that carry it. Set by this name at submit; Slurm shows them as SPANK_<name> to
// prolog and epilog and as SLURM_SPANK_<name> to steps.
inline constexpr char kRequestVariable[] = "STAGE_MODEL_REQUEST";
inline constexpr char kCredentialsVariable[] = "STAGE_MODEL_CREDENTIALS";  // sealed, see spank/seal.h
inline constexpr char kPrologPrefix[] = "SPANK_";
inline constexpr char kStepPrefix[] = "SLURM_SPANK_";

// What a step finds in its environment: the first model, and each by its NAME.
inline constexpr char kDirectoryVariable[] = "STAGE_MODEL_DIR";
// Its value from submit on, until a node's plugin puts the real one in its place: a node that does not
// know the plugin would run the job with an empty variable, and without a word.
inline constexpr char kNoDirectory[] =
    "/nonexistent/the-stage-model-plugin-is-not-in-the-plugstack.conf-of-this-node";

// Environment defaults, read at submit only.
inline constexpr char kModelDefault[] = "STAGE_MODEL";
inline constexpr char kDestDefault[] = "STAGE_DEST";

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
