#!/bin/bash
# Installs by name what is missing of the Debian packages that the build and the tests need, and of
# those named as arguments. Quiet when nothing is. Needs root only if something is missing.
set -euo pipefail

build=(cmake g++ ninja-build pkg-config
  libcli11-dev libcurl4-openssl-dev libexpected-dev libfmt-dev libmunge-dev libopenmpi-dev
  libpmix-dev libpugixml-dev libsimdjson-dev libslurm-dev libssl-dev libtomlplusplus-dev
  libxxhash-dev)
tests=(libgmock-dev libgtest-dev
  clang curl e2fsprogs iproute2 mount munge nftables nginx-light openmpi-bin patchelf procps python3
  python3-venv
  rclone slurm-wlm util-linux)

missing=()
for package in "${build[@]}" "${tests[@]}" "$@"; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
    missing+=("$package")
done
# npm may have come from elsewhere, and Debian's would then conflict. It is for Azurite only.
command -v node >/dev/null || missing+=(nodejs)
azurite=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/stage-model/npm/node_modules/.bin/azurite-blob
command -v npm >/dev/null || [ -e "$azurite" ] || missing+=(npm)
# Only makes rebuilding fast, but the tests build three trees.
command -v ccache >/dev/null || missing+=(ccache)

[ ${#missing[@]} = 0 ] && exit
[ "$(id -u)" = 0 ] || { echo "missing Debian packages: ${missing[*]}" >&2; exit 1; }
echo "installing: ${missing[*]}"

# munge and slurmd come with services; the tests start their own, in namespaces.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  trap 'rm -f $policy' EXIT
  printf '#!/bin/sh\nexit 101\n' >$policy
  chmod 755 $policy
fi
export DEBIAN_FRONTEND=noninteractive
install() {
  apt-get install -qq -y --no-install-recommends "${missing[@]}" </dev/null
}
# The package lists of a new machine may be missing or old.
install >/dev/null 2>&1 || { apt-get update -qq && install >/dev/null; }
