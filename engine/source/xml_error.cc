#include "engine/source/xml_error.h"

#include "engine/source/xml.h"

namespace stage_model::source {

XmlError parse_xml_error(std::string_view xml) {
  pugi::xml_document document;
  if (!load_xml(document, xml)) return {};
  const pugi::xml_node error = document.child("Error");
  return {text_of(error, "Code"), text_of(error, "Message"), text_of(error, "Region"),
          text_of(error, "RequestId")};
}

}  // namespace stage_model::source
