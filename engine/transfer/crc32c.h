// CRC-32C (Castagnoli), the checksum of Google Cloud Storage and S3. By the processor's own
// instruction where it has one, else by table. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stage_model::transfer {

// `crc` of what came before; 0 at the start.
std::uint32_t crc32c(std::uint32_t crc, const std::byte* data, std::size_t length);
// The same by table only: what processors without the instruction run.
std::uint32_t crc32c_by_table(std::uint32_t crc, const std::byte* data, std::size_t length);

}  // namespace stage_model::transfer
