#include "engine/plan/pack.h"

#include <cstring>

namespace stage_model::plan {
namespace {

class Writer {
 public:
  void number(std::uint64_t n) { out_.append(reinterpret_cast<const char*>(&n), sizeof n); }
  void text(std::string_view s) {
    number(s.size());
    out_ += s;
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

class Reader {
 public:
  explicit Reader(std::string_view in) : in_(in) {}
  std::uint64_t number() {
    std::uint64_t n = 0;
    if (in_.size() < sizeof n) {
      bad_ = true;
      return 0;
    }
    std::memcpy(&n, in_.data(), sizeof n);
    in_.remove_prefix(sizeof n);
    return n;
  }
  std::string text() {
    const std::uint64_t n = number();
    if (n > in_.size()) {
      bad_ = true;
      return {};
    }
    std::string s(in_.substr(0, n));
    in_.remove_prefix(n);
    return s;
  }
  // A count of items that take at least `least` bytes each.
  std::uint64_t count(std::size_t least) {
    const std::uint64_t n = number();
    if (n > in_.size() / least) bad_ = true;
    return bad_ ? 0 : n;
  }
  bool done() const { return !bad_ && in_.empty(); }

 private:
  std::string_view in_;
  bool bad_ = false;
};

}  // namespace

std::string pack(const Listing& listing) {
  Writer out;
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
  Reader in(bytes);
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
