#include "tests/simulation/base/runner.h"
#include "tests/simulation/ranks/scenario.h"
#include "tests/simulation/ranks/world.h"

int main(int argc, char** argv) {
  using namespace stage_model::simulation;
  return run("ranks", argc, argv, [](Seed& seed) {
    const Scenario scenario = random_scenario(seed.random, seed.nodes);
    return World(scenario, seed.random.fork(), seed.trace).run();
  });
}
