#!/bin/bash
# Runs a command as root in another release of Debian, on this machine and in this checkout:
#
#   tests/support/debian_root.sh trixie cat /etc/debian_version
#
# The release's root is made by debootstrap once, in a cache outside the tree, from the mirrors, and
# with the proxy and certificates, of this machine's apt. The command has the checkout, the
# compiler's cache and the tests' own cache (npm, pip) under their paths, /run empty, /tmp empty but
# on a disk, and its network is the machine's. It runs in mount and pid namespaces of its own, so
# nothing stays mounted or running. STAGE_DEBIAN_ROOT tells it where it is. Needs root.
set -euo pipefail

self=$(readlink -f "$0")
support=$(dirname "$self")
tree=$(readlink -f "$support/../..")
cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/stage-model

# This machine's apt sources as another release has them: "URI SUITE COMPONENT" lines.
sources_of() { # RELEASE
  local VERSION_CODENAME=
  # shellcheck source=/dev/null
  . /etc/os-release
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    sed -nE "s/ $VERSION_CODENAME(-[a-z]+)? / $1\\1 /p" | sort -u
}

make_root() { # RELEASE ROOT
  local mirror
  "$support/packages.sh" debootstrap
  mirror=$(sources_of "$1" | awk -v suite="$1" '$2 == suite { print $1; exit }')
  [ -n "$mirror" ] || { echo "no apt source of this machine tells where $1 is" >&2; exit 1; }
  # debootstrap takes what apt is told about proxies only from the environment.
  eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
  [ -z "${http_proxy:-}" ] || export http_proxy
  [ -z "${https_proxy:-}" ] || export https_proxy
  rm -rf --one-file-system "$2.new"
  # Whatever it mounts while it works goes with the namespace.
  unshare --mount --propagation private \
    debootstrap --variant=minbase "$1" "$2.new" "$mirror" >"$2.log" 2>&1 ||
    { tail -n 30 "$2.log" >&2; exit 1; }
  rm -f "$2.new/etc/apt/sources.list.d/"*
  sources_of "$1" | sed 's/^/deb /' >"$2.new/etc/apt/sources.list"
  apt-config dump --no-empty --format '%F "%v";%n' |
    grep '^Acquire::' | grep -v '^Acquire::IndexTargets' >"$2.new/etc/apt/apt.conf.d/90machine" || :
  mv "$2.new" "$2"
}

# What the network needs changes with the machine, so it is taken along each time.
take_along() { # ROOT
  local file
  for file in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/npmrc /etc/apt/auth.conf \
    /etc/ssl/certs/ca-certificates.crt; do
    [ ! -f "$file" ] || install -D -m 644 "$file" "$1$file"
  done
  for file in /usr/local/share/ca-certificates /etc/apt/auth.conf.d; do
    [ ! -d "$file" ] || { mkdir -p "$1$file" && cp -r "$file/." "$1$file"; }
  done
}

bind() { # FROM ROOT TO
  mkdir -p "$1" "$2$3"
  mount --bind "$1" "$2$3"
}

# In the namespaces.
enter() { # RELEASE ROOT TMP CMD...
  local release=$1 root=$2 tmp=$3 ccache_dir ccache_size
  shift 3
  ccache_dir=$(ccache -k cache_dir)
  ccache_size=$(ccache -k max_size)
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  mount -t tmpfs -o mode=755 tmpfs "$root/run"
  bind "$tmp" "$root" /tmp
  bind "$tree" "$root" "$tree"
  bind "$cache" "$root" /root/.cache/stage-model
  bind "$ccache_dir" "$root" /root/.cache/ccache
  cd "$root"
  exec chroot "$root" env -u XDG_CACHE_HOME -u TMPDIR -u STAGE_AZURITE -u STAGE_MOTO -u STAGE_HF_PYTHON \
    HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    CCACHE_DIR=/root/.cache/ccache CCACHE_MAXSIZE="$ccache_size" STAGE_DEBIAN_ROOT="$release" \
    sh -c 'cd "$1" && shift && exec "$@"' sh "$tree" "$@"
}

if [ "${1:-}" = __enter ]; then
  shift
  enter "$@"
fi
[ $# -ge 2 ] || { echo "usage: debian_root.sh RELEASE CMD..." >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "needs root (debootstrap, namespaces)" >&2; exit 1; }
release=$1
[[ $release =~ ^[a-z]+$ ]] || { echo "no release of Debian: $release" >&2; exit 2; }
shift
root=$cache/debian-$release
mkdir -p "$cache"
(
  flock 9  # two checkouts may ask at once
  [ -d "$root" ] || make_root "$release" "$root" >&2
  take_along "$root"
) 9>"$cache/.lock-debian-$release"
tmp=$(mktemp -d "$cache/tmp-$release.XXXXXX")
trap 'rm -rf --one-file-system "$tmp"' EXIT
chmod 1777 "$tmp"
unshare --mount --pid --fork --kill-child --propagation private \
  bash "$self" __enter "$release" "$root" "$tmp" "$@"
