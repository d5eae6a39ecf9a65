// What prolog and epilog ask of Slurm, by libslurm alone: the plugin finds it in its host, the
// site's own prolog script in a program that links it. One of the three files that include Slurm's
// headers.
#pragma once

#include "spank/slurm_seam.h"

namespace stage_model::spank {

class SlurmNodeCalls : public virtual SlurmNode {
 public:
  std::vector<std::string> expand_nodes(const std::string& node_list) override;
  std::optional<double> prolog_timeout() override;
  std::optional<double> epilog_timeout() override;
  JobLife job_life(std::uint32_t job) override;
  void notify_job(std::uint32_t job, const std::string& message) override;
  void drain_node(const std::string& node, const std::string& why) override;
  void error(const std::string& message) override;
};

}  // namespace stage_model::spank
