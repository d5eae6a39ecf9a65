#!/bin/bash
# Installs what is missing, builds everything and runs every test:
#
#   tests/run.sh                  all of it
#   tests/run.sh -L cluster       only the release build, and ctest with these arguments
#   tests/run.sh --on trixie ...  on another release of Debian: the release build in build/trixie,
#                                 then all tests and the quickstart, or ctest with these arguments
#
# Debian packages are installed by name; Azurite by npm and moto by pip into a cache outside the
# tree, where the other release's root is as well. Needs root for that and for the cluster tests.
# Logs: build/logs. Leaves no process, mount or namespace behind.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

# On another release this script runs itself there, which is told by the variable.
other=${STAGE_DEBIAN_ROOT:-}
if [ "${1:-}" = --on ]; then
  [ -n "${2:-}" ] || { echo "--on needs a release of Debian" >&2; exit 2; }
  tests/support/packages.sh && tests/support/azurite.sh >/dev/null
  exec tests/support/debian_root.sh "$2" tests/run.sh "${@:3}"
fi

logs=build/logs${other:+/$other}
mkdir -p "$logs"
jobs=$(nproc)
# Checkouts of the same sources in different folders share what ccache holds.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=true
failed=0

# Runs a step with its output in a log, which is shown only if it fails.
step() { # NAME CMD...
  local name=$1 start=$SECONDS log
  log=$logs/${1// /-}.log
  shift
  if "$@" >"$log" 2>&1 </dev/null; then
    printf '%-28s %4d s\n' "$name" $((SECONDS - start))
    return
  fi
  printf '%-28s %4d s  FAILED, the end of %s:\n' "$name" $((SECONDS - start)) "$log"
  tail -n 150 "$log"
  return 1
}

# A preset's tree stands under its name; the other release's under that of the release.
tree_of() { # PRESET
  echo "build/${other:-$1}"
}

build() { # PRESET [TARGET...]
  local preset=$1 targets=("${@:2}")
  # gcc 12's sanitizers cannot map their shadow under the largest address randomisation; tests are
  # run while building too, to list what is in them.
  step "configure $preset" cmake --preset "$preset" -B "$(tree_of "$preset")" &&
    step "build $preset" setarch "$(uname -m)" -R cmake --build "$(tree_of "$preset")" \
      -j "$jobs" "${targets[@]/#/--target=}"
}

test_built() { # PRESET CTEST-ARGUMENTS...
  local preset=$1
  step "test $preset" setarch "$(uname -m)" -R ctest --preset "$preset" -j "$jobs" "${@:2}" &&
    sed -n '/tests passed/p' "$logs/test-$preset.log"
}

step "packages" tests/support/packages.sh
step "azurite" tests/support/azurite.sh
step "huggingface_hub" tests/support/hf_client.sh
STAGE_HF_PYTHON=$(tests/support/hf_client.sh)
export STAGE_HF_PYTHON
STAGE_AZURITE=$(tests/support/azurite.sh)
export STAGE_AZURITE
step "moto" tests/support/moto.sh
STAGE_MOTO=$(tests/support/moto.sh)
export STAGE_MOTO

build release
if [ $# = 0 ] && [ -z "$other" ]; then
  build asan unit_tests fuzz_tests && STAGE_FUZZ_SECONDS=5 test_built asan -L 'unit|fuzz' ||
    failed=1
  # Where threads meet; elsewhere there is one.
  threaded=(store_staging_test store_concurrency_test http_test http_client_test)
  build tsan "${threaded[@]}" && test_built tsan -L 'unit|integration' \
    -R '^(Staging|SeveralJobs|Http|Threads|Kinds|Forms)' || failed=1
fi

log=$logs/test-release.log
if ctest --test-dir "$(tree_of release)" --output-on-failure -j "$jobs" "$@" >"$log" 2>&1 </dev/null
then
  sed -n '/tests passed/,$p' "$log"  # ctest's closing lines
else
  failed=1
  tail -n 400 "$log"
fi

if [ $# = 0 ] && [ -n "$other" ]; then
  step "quickstart" env STAGE_BUILD_DIR="$PWD/$(tree_of release)" examples/quickstart.sh || failed=1
fi
exit $failed
