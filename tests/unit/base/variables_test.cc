#include "engine/base/variables.h"

#include <gtest/gtest.h>

namespace stage_model {
namespace {

TEST(Variables, UnsetIsEmpty) {
  const Variables variables = {{"A", "1"}, {"B", ""}};
  EXPECT_EQ(variable(variables, "A"), "1");
  EXPECT_EQ(variable(variables, "B"), "");
  EXPECT_EQ(variable(variables, "C"), "");
}

}  // namespace
}  // namespace stage_model
