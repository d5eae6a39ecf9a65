// What the user asked for, part by part as the flags come, and the text in which it travels from
// the submit host to the prologs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stage_model/config.h"
#include "stage_model/result.h"

namespace stage_model::spank {

struct Model {
  std::string name;  // "" or [A-Z][A-Z0-9_]*
  std::string url;
  friend bool operator==(const Model&, const Model&) = default;
};

struct Ask {
  std::vector<Model> models;
  std::string dest;  // "" : the default place
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
Status add_model(Ask& ask, std::string_view text, const Site& site);
Status set_dest(Ask& ask, std::string_view text, const Site& site);
Status add_filter(std::vector<std::string>& filters, std::string_view text);

// The configured root that `path` lies strictly below; "" if none.
std::string root_of(std::string_view path, const std::vector<std::string>& roots);

// Printable ASCII, one line.
std::string encode_ask(const Ask& ask);

// The prolog's side: the text may have been forged by the user, so everything is bounded and every
// part is checked again.
Result<Ask> decode_ask(std::string_view text, const Site& site);

}  // namespace stage_model::spank
