// Who of a job's launchers is there, as one of them knows it: its neighbours in the tree, who of
// the nodes below has come, who may come, who has gone silent. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/launch/actions.h"
#include "engine/launch/tree.h"
#include "stage_model/launch_order.h"

namespace stage_model::launch {

class Membership {
 public:
  struct Options {
    double heartbeat_timeout_s = 5;
    // A neighbour that is lost before close() may come again, as a container does that is
    // restarted. What Slurm's prolog started never does.
    bool may_return = false;
  };

  // All references outlive it.
  Membership(const Tree& tree, const std::vector<Node>& nodes, Options options, Actions& actions);

  void start(double now);
  void close() { open_ = false; }  // from here on a neighbour that is lost is lost
  void finish();                   // says nothing more, asks for all links to be ended

  // May this index be let in as a child now? Not one that is linked or lost already.
  bool admits(std::uint32_t child) const;
  // Why the last attempt to be this child was refused.
  void refused(std::uint32_t child, std::string why) { refusals_[child] = std::move(why); }

  void link_up(double now, std::uint32_t neighbour);
  enum class Loss { kIgnored, kMayReturn, kLost };
  Loss link_down(std::uint32_t neighbour);
  void heard(std::uint32_t neighbour, double when);
  // Who has come, or gone again, below a child. False: that is not in its part of the tree.
  bool on_met(std::uint32_t child, std::uint32_t index);
  bool on_left(std::uint32_t child, std::uint32_t index);

  // Sends what shows life; returns the neighbours that have shown none. Their links are still up.
  std::vector<std::uint32_t> tick(double now);
  double next_deadline() const { return next_beat_; }

  bool is_linked(std::uint32_t neighbour) const;
  bool has_parent() const { return !tree_.is_root() && is_linked(tree_.parent()); }
  bool is_complete() const { return met_.size() + 1 == tree_.size(); }  // root
  bool is_quiet() const;                                                // no link is up
  // Children that have never come, or that may come again.
  std::vector<std::uint32_t> absent_children() const;
  // For a human: nodes that have not come, with the reason where one is known.
  std::string missing_nodes() const;

 private:
  struct Neighbour {
    double last_heard = 0;
    bool up = true;  // false: lost
  };
  void add(std::uint32_t index);
  void remove(std::uint32_t index);
  bool is_below(std::uint32_t child, std::uint32_t index) const;

  const Tree& tree_;
  const std::vector<Node>& nodes_;
  Options options_;
  Actions& actions_;
  std::map<std::uint32_t, Neighbour> neighbours_;
  std::set<std::uint32_t> met_;  // every index below this one that has come
  std::map<std::uint32_t, std::string> refusals_;
  double period_;
  double last_beat_ = 0;
  double next_beat_ = std::numeric_limits<double>::infinity();
  bool open_;  // a lost neighbour may come again
  bool finishing_ = false;
};

}  // namespace stage_model::launch
