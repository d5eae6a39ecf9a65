#include "engine/transfer/messages.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace stage_model::transfer {
namespace {

using namespace message;

template <class T>
void put(std::string& out, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
bool get(std::string_view& in, T* value) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (in.size() < sizeof *value) return false;
  std::memcpy(value, in.data(), sizeof *value);
  in.remove_prefix(sizeof *value);
  return true;
}

template <class T>
void put(std::string& out, const std::vector<T>& values) {
  put(out, static_cast<std::uint32_t>(values.size()));
  for (const T& value : values) put(out, value);
}

template <class T>
bool get(std::string_view& in, std::vector<T>* values) {
  std::uint32_t count = 0;
  if (!get(in, &count) || count > in.size() / sizeof(T)) return false;
  values->resize(count);
  return std::all_of(values->begin(), values->end(), [&](T& value) { return get(in, &value); });
}

void put(std::string& out, const Cause& cause) {
  put(out, static_cast<int>(cause.error.code));
  put(out, static_cast<std::uint32_t>(cause.node.size()));
  out += cause.node;
  out += cause.error.message;
}

bool get(std::string_view& in, Cause* cause) {
  int code = 0;
  std::uint32_t length = 0;
  if (!get(in, &code) || !get(in, &length) || length > in.size()) return false;
  cause->error.code = static_cast<ExitCode>(code);
  cause->node = in.substr(0, length);
  cause->error.message = in.substr(length);
  in = {};
  return true;
}

// What each kind of message consists of, in order.
void put_parts(std::string& out, const RequestChunks& m) { put(out, m.count); }
void put_parts(std::string& out, const GrantChunks& m) {
  put(out, m.requested);
  put(out, m.chunks);
}
void put_parts(std::string& out, const ChunkReady& m) { put(out, m.entry); }
void put_parts(std::string& out, const RankFailed& m) { put(out, m.cause); }
void put_parts(std::string& out, const NextBroadcasts& m) { put(out, m.entries); }
void put_parts(std::string& out, const EndOfList& m) { put(out, m.cause); }
void put_parts(std::string&, const ShardOnDisk&) {}
void put_parts(std::string&, const StartBroadcasts&) {}
void put_parts(std::string&, const SourceAlive&) {}

bool get_parts(std::string_view& in, RequestChunks* m) { return get(in, &m->count); }
bool get_parts(std::string_view& in, GrantChunks* m) {
  return get(in, &m->requested) && get(in, &m->chunks);
}
bool get_parts(std::string_view& in, ChunkReady* m) { return get(in, &m->entry); }
bool get_parts(std::string_view& in, RankFailed* m) { return get(in, &m->cause); }
bool get_parts(std::string_view& in, NextBroadcasts* m) { return get(in, &m->entries); }
bool get_parts(std::string_view& in, EndOfList* m) { return get(in, &m->cause); }
bool get_parts(std::string_view&, ShardOnDisk*) { return true; }
bool get_parts(std::string_view&, StartBroadcasts*) { return true; }
bool get_parts(std::string_view&, SourceAlive*) { return true; }

// The kind-th alternative of Message.
template <std::size_t kind = 0>
bool get_kind(std::size_t wanted, std::string_view& in, Message* message) {
  if constexpr (kind < std::variant_size_v<Message>) {
    if (wanted == kind) return get_parts(in, &message->emplace<kind>());
    return get_kind<kind + 1>(wanted, in, message);
  } else {
    return false;
  }
}

}  // namespace

std::string encode(const Message& message) {
  std::string out(1, static_cast<char>(message.index()));
  std::visit([&](const auto& m) { put_parts(out, m); }, message);
  return out;
}

bool decode(std::string_view in, Message* message) {
  if (in.empty()) return false;
  const auto kind = static_cast<unsigned char>(in[0]);
  in.remove_prefix(1);
  return get_kind(kind, in, message) && in.empty();
}

}  // namespace stage_model::transfer
