#!/bin/bash
# Prints the path of a Python that has huggingface_hub: $STAGE_HF_PYTHON, else one in an environment
# that pip fills in a cache outside the tree, once.
set -euo pipefail

version=0.36.0
if [ -n "${STAGE_HF_PYTHON:-}" ]; then
  echo "$STAGE_HF_PYTHON"
  exit
fi
cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/stage-model
# A Python cannot use what another release of it has filled.
environment=$cache/huggingface_hub-$version-$(python3 -c 'import sys; print("py%d.%d" % sys.version_info[:2])')
python=$environment/bin/python
works() { "$python" -c 'import huggingface_hub' >/dev/null 2>&1; }

if ! works; then
  mkdir -p "$cache"
  exec 9>"$cache/.lock-huggingface_hub"  # two checkouts may install at once
  flock 9
  if ! works; then
    echo "installing huggingface_hub from PyPI into $cache" >&2
    python3 -m venv "$environment" >&2
    "$python" -m pip install --quiet --disable-pip-version-check "huggingface_hub==$version" \
      </dev/null >&2
    works
  fi
fi
echo "$python"
