#include "engine/source/register.h"

#include <array>

namespace stage_model::source {

extern const Kind kAzure;  // azure.cc
extern const Kind kFile;   // file.cc
extern const Kind kHf;     // hf.cc
extern const Kind kHttps;  // https.cc
extern const Kind kGcs;    // gcs.cc
extern const Kind kS3;     // s3.cc

std::span<const Kind* const> kinds() {
  static constexpr std::array kAll = {
      &kAzure,
      &kFile,
      &kS3,
      &kGcs,
      &kHf,
      &kHttps,  // last: other stores have https URLs of their own
  };
  return kAll;
}

}  // namespace stage_model::source
