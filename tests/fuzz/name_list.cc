// --filelist, and the names of a listing, which may be anything: what passes stays inside DEST.
#include "engine/plan/filter.h"
#include "engine/plan/names.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stage_model;
  const std::string_view text = fuzz::text_of(data, size);
  const auto names = plan::parse_name_list(text);
  if (!fuzz::ok_or_one_line(names)) return 0;
  plan::Listing listing;
  for (const std::string& name : *names) {
    plan::Object& object = listing.objects.emplace_back();
    object.name = name;
    fuzz::expect(plan::printable(name).find_first_of("\r\n") == std::string::npos,
                 "a name is one line");
  }
  const auto again = plan::parse_name_list(plan::write_name_list(listing));
  fuzz::expect(again && *again == *names, "a list comes out as it went in");
  if (fuzz::ok_or_one_line(plan::check_names(listing, "/models/x"))) {
    for (const std::string& name : *names) {
      fuzz::expect(name.front() != '/' && ("/" + name + "/").find("/../") == std::string::npos &&
                       name.find('\0') == std::string::npos,
                   "a name that passes stays inside");
    }
  }
  plan::Filter filter;
  filter.include = *names;
  fuzz::expect(fuzz::ok_or_one_line(
                   plan::apply_filter({.include = {"*"}, .exclude = {}, .names = {}}, listing)),
               "* finds all");
  if (names->size() <= 8 && size <= 256) fuzz::ok_or_one_line(plan::apply_filter(filter, listing));
  return 0;
}
