// Reading the XML that stores answer with. Pure; thread-safe.
#pragma once

#include <pugixml.hpp>
#include <string>
#include <string_view>

namespace stage_model::source {

// False if it is no XML. Names are bytes: white space alone is one, and line ends stay what they
// are.
bool load_xml(pugi::xml_document& document, std::string_view xml);

std::string text_of(const pugi::xml_node& node);
std::string text_of(const pugi::xml_node& parent, const char* name);

// <Error>, as Azure and S3 answer when they refuse. Fields that are not there are "".
struct XmlError {
  std::string code, message, region, request_id;
};
XmlError parse_xml_error(std::string_view xml);

}  // namespace stage_model::source
