// The one table of object stores: what their URLs begin with, which variables of their own tools they
// listen to, and what of those is secret. Read at submit (what travels with a job), by the prolog,
// and by the engine's messages (what must never be shown). To add a store: its file and its line in
// engine/source/register.cc, and its row in engine/contract/stores.cc; tests compare the two.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stage_model {

enum class VariableUse {
  kSetting,   // may be shown
  kSecret,    // its value is never shown
  kEndpoint,  // names the server that the others are for
  kPath,      // names a file that the nodes must have as well
  kNodesOwn,  // what the machine says of itself: is not taken along from the submit host
};

struct StoreVariable {
  std::string_view name;
  VariableUse use;
};

struct Store {
  std::string_view scheme;      // "az"
  std::string_view allowed_as;  // the site's source.schemes name it so; mostly the same
  std::string_view form;        // of its URLs, for messages
  std::string_view safe_way;    // "" or how to give a secret otherwise than in the URL
  bool escaped;                 // its URLs hold %XX, so that a blank must be written as %20
  bool by_default;              // allowed where the site's configuration says nothing
  // A URL of this scheme may belong to that other store (Azure has https URLs); "" : none.
  std::string_view may_be;
  std::span<const StoreVariable> variables;
  // "" or what is wrong with a URL of this scheme, to be put behind the quoted URL.
  std::string (*problem)(std::string_view authority, std::string_view path);
};

std::span<const Store> stores();

// Null for a scheme that nobody has.
const Store* find_store(std::string_view scheme);

// source.schemes where the configuration does not say otherwise.
std::vector<std::string> default_schemes();

// Names of the variables that are taken along for a URL of that scheme, in no order.
std::vector<std::string> variables_of_scheme(std::string_view scheme);

// Is the value of a query parameter or key of that name as good as a password? Any case.
bool is_secret_parameter(std::string_view name);

}  // namespace stage_model
