// How users name a place on the Hugging Face Hub, and who they are there.
#pragma once

#include <string>
#include <string_view>

#include "engine/auth/identity.h"
#include "engine/base/variables.h"
#include "engine/source/source.h"

namespace stage_model::source {

struct HfUrl {
  std::string kind = "models";  // or "datasets", "spaces": as the hub's API spells them
  std::string repository;       // "ORG/NAME"
  std::string revision;         // branch, tag, commit or "refs/pr/N"; "main" if not given
  std::string path;             // in the repository; "" for all of it
  std::string origin;           // of the hub: "https://huggingface.co"
  std::string base;             // path of the hub there, encoded; mostly ""
};

// hf://ORG/NAME[@REV][/PATH], hf://datasets/ORG/NAME…, hf://spaces/ORG/NAME…. A '/' in REV is
// written as %2F, but for refs/pr/N and refs/convert/X; all else is taken literally. The hub is
// HF_ENDPOINT, else https://huggingface.co. Errors: kUsage.
Result<HfUrl> parse_hf_url(std::string_view text, const Variables& variables);

// The first of HF_TOKEN, HUGGING_FACE_HUB_TOKEN, the file HF_TOKEN_PATH, $HF_HOME/token and
// ~/.cache/huggingface/token; else anonymous. Errors: kSource for a file that is named but cannot
// be read, or a token that cannot be one.
Result<auth::IdentityPtr> choose_hf_identity(const Variables& variables);

}  // namespace stage_model::source
