// PrologEpilogTimeout and its successors as slurm.conf has them, for the case that the process has
// no configuration loaded.
#pragma once

#include <optional>
#include <string_view>

namespace stage_model::spank {

struct Timeouts {
  std::optional<double> prolog_s;
  std::optional<double> epilog_s;
};

// Of the text of a slurm.conf; Include lines are not followed.
Timeouts parse_timeouts(std::string_view slurm_conf);

// Of $SLURM_CONF, else /etc/slurm/slurm.conf. Unreadable: no values.
Timeouts timeouts_from_file();

}  // namespace stage_model::spank
