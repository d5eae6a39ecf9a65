#!/bin/bash
# Prints the path of a Python that has moto, the S3 server of the tests: $STAGE_MOTO, else one in an
# environment that pip fills in a cache outside the tree, once.
set -euo pipefail

version=5.2.1
if [ -n "${STAGE_MOTO:-}" ]; then
  [ -x "$STAGE_MOTO" ] || { echo "STAGE_MOTO=$STAGE_MOTO is not a program" >&2; exit 1; }
  echo "$STAGE_MOTO"
  exit
fi

cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/stage-model
# A Python cannot use what another release of it has filled.
environment=$cache/moto-$version-$(python3 -c 'import sys; print("py%d.%d" % sys.version_info[:2])')
python=$environment/bin/python
works() { "$python" -c 'import moto.server, crc32c' >/dev/null 2>&1; }

if ! works; then
  mkdir -p "$cache"
  # Two checkouts may install at once.
  exec 9>"$cache/.lock-moto"
  flock 9
  if ! works; then
    echo "installing moto from PyPI into $cache" >&2
    python3 -m venv "$environment" >&2
    "$python" -m pip install --quiet --disable-pip-version-check "moto[s3]==$version" \
      flask flask-cors crc32c </dev/null >&2
    works || { echo "moto does not run with $("$python" --version)" >&2; exit 1; }
  fi
fi
echo "$python"
