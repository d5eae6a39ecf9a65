#!/bin/bash
# bundle.sh as the Dockerfile runs it, and its result in an image that has nothing else: a root
# directory with a shell, env and sed, no MPI, no library of ours, no users, no certificates.
#
#   bundle_test.sh BIN
set -euo pipefail

[ "$(id -u)" = 0 ] || { echo "needs root for chroot; skipped"; exit 77; }
bin=$(readlink -f "$1")
here=$(dirname "$(readlink -f "$0")")
if [ "${STAGE_BUNDLE_TEST:-}" != inside ]; then
  export STAGE_BUNDLE_TEST=inside
  exec unshare --mount --pid --fork --kill-child --mount-proc --propagation private "$0" "$@"
fi

directory=$(mktemp -d -t stage-bundle.XXXXXX)
root=$directory/root
trap 'umount "$root/proc" "$root/dev" 2>/dev/null; rm -rf --one-file-system "$directory"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

"$here/../../../examples/kubernetes/bundle.sh" "$bin" /opt/stage-model "$root"
[ "$(cd "$root" && find . -maxdepth 2 | sort | xargs)" = ". ./opt ./opt/stage-model" ] ||
  fail "something is outside the prefix"
echo "bundle: $(du -sm "$root" | cut -f1) MB"

# The image.
mkdir -p "$root"/{bin,dev,proc,src}
mkdir -m 1777 "$root/tmp"
for program in sh env sed; do
  cp -L "$(command -v $program)" "$root/bin/$program"
  for file in $(ldd "$root/bin/$program" | grep -o '/[^ ]*'); do
    mkdir -p "$root/${file%/*}"
    cp -Ln "$file" "$root$file"
  done
done
mount --bind /dev "$root/dev"
mount -t proc proc "$root/proc"
head -c 5000000 /dev/urandom >"$root/src/weights"
printf '0123456789abcdef0123456789abcdef' >"$root/key"
chown 4711 "$root/key"
chmod 400 "$root/key"

inside() { chroot --userspec=4711:4711 "$root" /bin/env -i "$@" </dev/null; }
engine=/opt/stage-model/bin/stage-engine
launch=(/opt/stage-model/bin/stage-launch --no-config --job one --index 0 --nodes self=127.0.0.1
  --key-file /key --)
# What an image with an MPI of its own sets, and what its mpirun adds.
foreign=(LD_LIBRARY_PATH=/foreign OPAL_PREFIX=/foreign OPAL_PKGLIBDIR=/foreign PMIX_PREFIX=/foreign
  PATH=/bin)
mpirun=(OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=0 OMPI_MCA_ess=env OMPI_MCA_orte_hnp_uri=x
  PMIX_NAMESPACE=other PMIX_RANK=0 PMIX_SERVER_URI3=other OMPI_MCA_pml=nonsense PMIX_MCA_gds=ds12)
mkdir "$root/foreign"
for library in libmpi.so.40 libpmix.so.2 libcurl.so.4 libopen-pal.so.40; do
  echo "not a library" >"$root/foreign/$library"
done

check() { # NAME COMMAND...
  local name=$1
  rm -rf "$root/tmp/model"
  inside "${@:2}" file:///src/ /tmp/model >"$directory/out" 2>&1 ||
    { cat "$directory/out"; fail "$name: exit code"; }
  cmp "$root/src/weights" "$root/tmp/model/weights" || fail "$name: bytes"
  grep -q '^\[total\] 5000000 bytes' "$directory/out" || fail "$name: no summary"
  [ "$(grep -vc '^\[' "$directory/out")" = 0 ] || { cat "$directory/out"; fail "$name: noise"; }
  echo "ok   $name"
}
check "engine alone, empty environment" "$engine"
check "engine alone, an environment for another MPI" env "${foreign[@]}" "$engine"
check "launcher, empty environment" "${launch[@]}"
check "launcher, an environment for another MPI" env "${foreign[@]}" "${launch[@]}"
check "launcher under another MPI's mpirun" env "${foreign[@]}" "${mpirun[@]}" "${launch[@]}"

code=0
inside env PATH=/bin "${mpirun[@]}" "$engine" file:///src/ /tmp/never >"$directory/out" 2>&1 || code=$?
[ $code = 2 ] && grep -q 'start /opt/stage-model/bin/stage-launch' "$directory/out" ||
  { cat "$directory/out"; fail "engine under another MPI's mpirun: exit code $code"; }
[ ! -e "$root/tmp/never" ] || fail "it ran all the same"
echo "ok   engine under another MPI's mpirun is refused"
