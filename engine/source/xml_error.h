// <Error>, as Azure and S3 answer when they refuse. Pure; thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace stage_model::source {

// Fields that are not there are "".
struct XmlError {
  std::string code, message, region, request_id;
};
XmlError parse_xml_error(std::string_view xml);

}  // namespace stage_model::source
