#include "spank/slurm_conf.h"

#include <gtest/gtest.h>

namespace stage_model::spank {
namespace {

TEST(PrologTimeout, OldAndNewKeys) {
  EXPECT_FALSE(parse_timeouts("").prolog_s);
  EXPECT_FALSE(parse_timeouts("#PrologEpilogTimeout=5\nPrologEpilogTimeout=65534\n").prolog_s);
  const auto both = parse_timeouts("A=1\r\nprologepilogtimeout = 600 # ten minutes\n");
  EXPECT_EQ(both.prolog_s, 600);
  EXPECT_EQ(both.epilog_s, 600);
  const auto own = parse_timeouts("PrologTimeout=90\nPrologEpilogTimeout=600\nEpilogTimeout=30");
  EXPECT_EQ(own.prolog_s, 90);
  EXPECT_EQ(own.epilog_s, 30);
  EXPECT_FALSE(parse_timeouts("PrologTimeout=soon\n").prolog_s);
}

}  // namespace
}  // namespace stage_model::spank
