#!/bin/bash
# Prints the path of azurite-blob, the Azure Blob emulator of the tests: $STAGE_AZURITE, else the one
# on PATH, else one that npm installs into a cache outside the tree, once.
set -euo pipefail

if [ -n "${STAGE_AZURITE:-}" ]; then
  [ -x "$STAGE_AZURITE" ] || { echo "STAGE_AZURITE=$STAGE_AZURITE is not a program" >&2; exit 1; }
  echo "$STAGE_AZURITE"
  exit
fi
if command -v azurite-blob; then exit; fi

cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/stage-model/npm
program=$cache/node_modules/.bin/azurite-blob
works() { "$program" --version >/dev/null 2>&1; }

if ! works; then
  command -v npm >/dev/null || { echo "npm is missing (apt-get install npm)" >&2; exit 1; }
  mkdir -p "$cache"
  # Two checkouts may install at once.
  exec 9>"$cache/.lock"
  flock 9
  if ! works; then
    echo "installing azurite from npm into $cache" >&2
    npm install --prefix "$cache" --no-audit --no-fund --loglevel=error azurite </dev/null >&2
    works || { echo "azurite does not run with node $(node --version)" >&2; exit 1; }
  fi
fi
echo "$program"
