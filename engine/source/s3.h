// s3://BUCKET/PREFIX/: Amazon S3 and what speaks its protocol.
#pragma once

#include <memory>
#include <string_view>

#include "engine/base/variables.h"
#include "engine/source/source.h"

namespace stage_model::source {

// As open_source, for URLs of this store; tests choose smaller pages (1 to 1000).
Result<std::unique_ptr<Source>> open_s3(std::string_view url, const Variables& variables,
                                        const TransferOptions& options, unsigned page_size);

}  // namespace stage_model::source
