#include "engine/source/xml.h"

namespace stage_model::source {

bool load_xml(pugi::xml_document& document, std::string_view xml) {
  constexpr unsigned kParse = pugi::parse_cdata | pugi::parse_escapes | pugi::parse_ws_pcdata;
  return document.load_buffer(xml.data(), xml.size(), kParse, pugi::encoding_utf8);
}

std::string text_of(const pugi::xml_node& node) {
  std::string out;
  for (const pugi::xml_node& child : node.children()) {
    if (child.type() == pugi::node_pcdata || child.type() == pugi::node_cdata) out += child.value();
  }
  return out;
}

std::string text_of(const pugi::xml_node& parent, const char* name) {
  return text_of(parent.child(name));
}

XmlError parse_xml_error(std::string_view xml) {
  pugi::xml_document document;
  if (!load_xml(document, xml)) return {};
  const pugi::xml_node error = document.child("Error");
  return {text_of(error, "Code"), text_of(error, "Message"), text_of(error, "Region"),
          text_of(error, "RequestId")};
}

}  // namespace stage_model::source
