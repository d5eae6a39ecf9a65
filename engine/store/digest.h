// The digest of an extent that is read piece by piece; equal to digest() of the whole.
#pragma once

#include <cstddef>

#include "engine/store/store.h"

struct XXH3_state_s;

namespace stage_model::store {

class Digester {
 public:
  Digester();
  ~Digester();
  Digester(const Digester&) = delete;
  Digester& operator=(const Digester&) = delete;

  void add(const std::byte* data, std::size_t length);
  Digest finish() const;

 private:
  XXH3_state_s* state_;
};

}  // namespace stage_model::store
