#include "engine/source/lfs_pointer.h"

#include <algorithm>
#include <array>

namespace stage_model::source {

bool may_be_lfs_pointer(std::string_view name, std::uint64_t size) {
  static constexpr std::array<std::string_view, 9> kWeights = {
      ".safetensors", ".bin", ".gguf", ".pt", ".pth", ".h5", ".onnx", ".msgpack", ".ckpt"};
  constexpr std::size_t kSmallest = 100;
  return size >= kSmallest && size <= kLargestPointer &&
         std::any_of(kWeights.begin(), kWeights.end(),
                     [name](std::string_view end) { return name.ends_with(end); });
}

bool is_lfs_pointer(std::string_view text) {
  return text.starts_with("version https://git-lfs.github.com/spec/v1\n") &&
         text.find("\noid sha256:") != std::string_view::npos;
}

}  // namespace stage_model::source
