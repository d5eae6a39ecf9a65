// Azure Blob storage. Registered in register.cc; this header is for its tests.
#pragma once

#include <memory>
#include <string_view>

#include "engine/base/variables.h"
#include "engine/source/source.h"

namespace stage_model::source {

// `page_size`: blobs per page of a list; Azure gives at most 5,000.
Result<std::unique_ptr<Source>> open_azure(std::string_view url, const Variables& variables,
                                           const TransferOptions& options, unsigned page_size);

}  // namespace stage_model::source
