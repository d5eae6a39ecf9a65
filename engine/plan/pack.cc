#include "engine/plan/pack.h"

#include "engine/base/bytes.h"

namespace stage_model::plan {
std::string pack(const Listing& listing) {
  ByteWriter out;
  out.text(listing.source);
  out.text(listing.lineage);
  out.text(listing.resolved);
  out.number(listing.objects.size());
  for (const Object& object : listing.objects) {
    out.text(object.name);
    out.text(object.key);
    out.number(object.size);
    out.text(object.etag);
    out.number(static_cast<std::uint64_t>(object.hash.kind));
    out.text(object.hash.bytes);
  }
  out.number(listing.directories.size());
  for (const std::string& name : listing.directories) out.text(name);
  return out.take();
}

Result<Listing> unpack(std::string_view bytes) {
  ByteReader in(bytes);
  Listing listing;
  listing.source = in.text();
  listing.lineage = in.text();
  listing.resolved = in.text();
  listing.objects.resize(in.count(6 * sizeof(std::uint64_t)));
  for (Object& object : listing.objects) {
    object.name = in.text();
    object.key = in.text();
    object.size = in.number();
    object.etag = in.text();
    object.hash.kind = static_cast<StoreHash::Kind>(in.number());
    object.hash.bytes = in.text();
  }
  listing.directories.resize(in.count(sizeof(std::uint64_t)));
  for (std::string& name : listing.directories) name = in.text();
  if (!in.done()) return fail(ExitCode::kFabric, "the list of objects from rank 0 arrived damaged");
  return listing;
}

}  // namespace stage_model::plan
