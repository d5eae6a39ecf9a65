// Node lists as the site's scripts give them.
#include "engine/launch/assemble.h"
#include "engine/launch/node_addresses.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stage_model;
  const std::string_view list = fuzz::text_of(data, size);
  if (list.find('\0') != std::string_view::npos) return 0;  // cannot be in an option
  const auto nodes = launch::parse_nodes(std::string(list));
  if (!fuzz::ok_or_one_line(nodes)) return 0;
  std::string text;
  for (const Node& node : *nodes) {
    fuzz::expect(!node.name.empty(), "a node has a name");
    text += node.name;
    if (!node.address.empty()) {
      const auto address = launch::parse_address(node.address);
      fuzz::expect(address && launch::parse_address(address->text()), "an address is one");
      text += "=" + node.address;
    }
    text += '\n';
  }
  const auto again = launch::parse_nodes(text);
  fuzz::expect(again && again->size() == nodes->size(), "a list comes out as it went in");
  for (std::size_t i = 0; i < nodes->size(); ++i) {
    fuzz::expect((*again)[i].name == (*nodes)[i].name && (*again)[i].address == (*nodes)[i].address,
                 "a list comes out as it went in");
  }
  return 0;
}
