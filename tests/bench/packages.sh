#!/bin/bash
# Installs by name what is missing of the Debian packages that the scale model needs beside the
# build's own (tests/support/packages.sh). Quiet when nothing is.
set -euo pipefail

wanted=(nginx-light python3 python3-matplotlib rclone
  bsdextrautils e2fsprogs iproute2 mount munge procps slurm-wlm util-linux)
missing=()
for package in "${wanted[@]}"; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
    missing+=("$package")
done
# Any nginx will do.
if command -v nginx >/dev/null || [ -x /usr/sbin/nginx ]; then
  missing=("${missing[@]/#nginx-light/}")
fi
missing=($(printf '%s\n' "${missing[@]}"))
[ ${#missing[@]} = 0 ] && exit
[ "$(id -u)" = 0 ] || { echo "missing Debian packages: ${missing[*]}" >&2; exit 1; }
echo "installing: ${missing[*]}" >&2

# nginx, munge and slurmd come with services; the scale model starts its own, in namespaces.
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
install >/dev/null 2>&1 || { apt-get update -qq && install >/dev/null; }
