// Brings whole objects into memory through a source: what the engine does with each extent. Only
// for tests.
#pragma once

#include <future>
#include <string>

#include "engine/source/source.h"

namespace stage_model::test {

inline Result<std::string> fetch(source::Fetcher& fetcher, const plan::Object& object,
                                 std::uint64_t offset, std::uint64_t length) {
  std::string bytes(length, '\0');
  std::promise<Status> done;
  source::Fetch fetch;
  fetch.object = &object;
  fetch.offset = offset;
  fetch.length = length;
  fetch.target = reinterpret_cast<std::byte*>(bytes.data());
  fetch.done = [&done](Status status) { done.set_value(std::move(status)); };
  fetcher.start(std::move(fetch));
  if (Status status = done.get_future().get(); !status) return tl::unexpected(status.error());
  return bytes;
}

inline Result<std::string> fetch(source::Fetcher& fetcher, const plan::Object& object) {
  return fetch(fetcher, object, 0, object.size);
}

}  // namespace stage_model::test
