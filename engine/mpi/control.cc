#include "engine/mpi/control.h"

#include <algorithm>
#include <cstring>

namespace stage_model::mpi {
namespace {

// One tag for everything: MPI keeps the order of messages between two ranks.
constexpr int kTag = 1;

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
void put_all(std::string& out, const std::vector<T>& values) {
  put(out, static_cast<std::uint32_t>(values.size()));
  for (const T& value : values) put(out, value);
}

template <class T>
bool get_all(std::string_view& in, std::vector<T>* values) {
  std::uint32_t count = 0;
  if (!get(in, &count) || count > in.size() / sizeof(T)) return false;
  values->resize(count);
  return std::all_of(values->begin(), values->end(), [&](T& value) { return get(in, &value); });
}

void put_cause(std::string& out, const Cause& cause) {
  put(out, static_cast<int>(cause.error.code));
  put(out, static_cast<std::uint32_t>(cause.node.size()));
  out += cause.node;
  out += cause.error.message;
}

bool get_cause(std::string_view& in, Cause* cause) {
  int code = 0;
  std::uint32_t length = 0;
  if (!get(in, &code) || !get(in, &length) || length > in.size()) return false;
  cause->error.code = static_cast<ExitCode>(code);
  cause->node = in.substr(0, length);
  cause->error.message = in.substr(length);
  in = {};
  return true;
}

}  // namespace

std::string encode(const Message& message) {
  std::string out(1, static_cast<char>(message.index()));
  if (const auto* ask = std::get_if<Ask>(&message)) put(out, ask->want);
  if (const auto* grant = std::get_if<Grant>(&message)) {
    put(out, grant->asked);
    put_all(out, grant->chunks);
  }
  if (const auto* ready = std::get_if<Ready>(&message)) put(out, ready->entry);
  if (const auto* failed = std::get_if<Failed>(&message)) put_cause(out, failed->cause);
  if (const auto* entries = std::get_if<Entries>(&message)) put_all(out, entries->entries);
  if (const auto* stop = std::get_if<Stop>(&message)) put_cause(out, stop->cause);
  return out;
}

bool decode(std::string_view in, Message* message) {
  if (in.empty()) return false;
  const auto kind = static_cast<unsigned char>(in[0]);
  in.remove_prefix(1);
  bool ok = false;
  switch (kind) {
    case 0:
      ok = get(in, &message->emplace<Ask>().want);
      break;
    case 1: {
      auto& grant = message->emplace<Grant>();
      ok = get(in, &grant.asked) && get_all(in, &grant.chunks);
      break;
    }
    case 2:
      ok = get(in, &message->emplace<Ready>().entry);
      break;
    case 3:
      ok = get_cause(in, &message->emplace<Failed>().cause);
      break;
    case 4:
      ok = get_all(in, &message->emplace<Entries>().entries);
      break;
    case 5:
      ok = get_cause(in, &message->emplace<Stop>().cause);
      break;
    case 6:
      message->emplace<Downloaded>();
      ok = true;
      break;
    case 7:
      message->emplace<Go>();
      ok = true;
      break;
    case 8:
      message->emplace<Alive>();
      ok = true;
      break;
    default:
      return false;
  }
  return ok && in.empty();
}

Control::Control(const Fabric& fabric) : rank_(fabric.rank()), size_(fabric.size()) {
  MPI_Comm_dup(fabric.world(), &comm_);
}

Control::~Control() { MPI_Comm_free(&comm_); }

void Control::post(int to, std::string bytes) {
  Send& send = sends_.emplace_back();
  send.bytes = std::move(bytes);
  MPI_Isend(send.bytes.data(), static_cast<int>(send.bytes.size()), MPI_BYTE, to, kTag, comm_,
            &send.request);
  ++messages_sent_;
}

void Control::send(int to, const Message& message) { post(to, encode(message)); }

void Control::forward(const std::string& bytes) {
  const std::int64_t first = std::int64_t{rank_} * kFanOut + 1;
  for (std::int64_t child = first; child < std::min<std::int64_t>(first + kFanOut, size_);
       ++child) {
    post(static_cast<int>(child), bytes);
  }
}

void Control::send_down(const Message& message) { forward(encode(message)); }

bool Control::poll(const std::function<void(int, Message)>& handle) {
  bool any = false;
  for (auto it = sends_.begin(); it != sends_.end();) {
    int done = 0;
    MPI_Test(&it->request, &done, MPI_STATUS_IGNORE);
    it = done != 0 ? sends_.erase(it) : std::next(it);
  }
  for (;;) {
    int found = 0;
    MPI_Message incoming = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Improbe(MPI_ANY_SOURCE, kTag, comm_, &found, &incoming, &status);
    if (found == 0) return any;
    any = true;
    int length = 0;
    MPI_Get_count(&status, MPI_BYTE, &length);
    std::string bytes(static_cast<std::size_t>(length), '\0');
    MPI_Mrecv(bytes.data(), length, MPI_BYTE, &incoming, MPI_STATUS_IGNORE);
    Message message;
    if (!decode(bytes, &message)) continue;  // cannot happen between equal binaries
    const bool down =
        std::holds_alternative<Entries>(message) || std::holds_alternative<Stop>(message) ||
        std::holds_alternative<Go>(message) ||
        (std::holds_alternative<Alive>(message) && rank_ != 0);  // rank 0 sends on what it wants
    if (down) forward(bytes);
    handle(status.MPI_SOURCE, std::move(message));
  }
}

}  // namespace stage_model::mpi
