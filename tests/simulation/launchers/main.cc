// See tests/simulation/README.md.
#include "tests/simulation/base/runner.h"
#include "tests/simulation/launchers/cluster.h"
#include "tests/simulation/launchers/scenario.h"

int main(int argc, char** argv) {
  using namespace stage_model::simulation;  // NOLINT(google-build-using-namespace): one function
  return run("launchers", argc, argv, [](Seed& seed) {
    const Scenario scenario = draw(seed.random, seed.nodes);
    Cluster cluster(seed, scenario);
    return cluster.run();
  });
}
