#!/bin/bash
# Puts stage-launch and stage-engine under a prefix of their own, with everything that they load: their
# Open MPI, PMIx, UCX and even their C library. Copied into any image that has a /bin/sh, they neither
# use nor change what that image has: no file outside the prefix, no LD_LIBRARY_PATH, no ld.so.conf.
#
#   bundle.sh BIN [PREFIX [DESTDIR]]
#
# BIN      directory with the two programs, built on this machine (Debian)
# PREFIX   where they will be when they run; fixed from here on (default: /opt/stage-model)
# DESTDIR  put before PREFIX while writing
#
# Needs patchelf and binutils. The Dockerfile beside this file runs it, and so do the tests.
set -euo pipefail

bin=${1:?usage: bundle.sh BIN [PREFIX [DESTDIR]]}
prefix=${2:-/opt/stage-model}
out=${3:-}$prefix

case $prefix in
  /*) ;;
  *) echo "bundle.sh: PREFIX must be absolute, not $prefix" >&2; exit 2 ;;
esac
for program in stage-launch stage-engine; do
  [ -x "$bin/$program" ] || { echo "bundle.sh: $bin/$program: not there; build it first" >&2; exit 2; }
done
for tool in patchelf strip ldd; do
  command -v "$tool" >/dev/null || { echo "bundle.sh: needs $tool" >&2; exit 2; }
done
[ ! -e "$out" ] || { echo "bundle.sh: $out: already there" >&2; exit 2; }

# What the linker names for a file, as lines "SONAME PATH".
needs() { ldd "$1" | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }'; }
interpreter=$(patchelf --print-interpreter "$bin/stage-engine")
system=$(dirname "$(readlink -f "$(needs "$bin/stage-engine" | awk '$1 == "libc.so.6" { print $2 }')")")

mkdir -p "$out"/bin "$out"/lib "$out"/libexec "$out"/etc/openmpi "$out"/share
install -m 755 "$bin/stage-launch" "$out/libexec/stage-launch"
install -m 755 "$bin/stage-engine" "$out/libexec/stage-engine.bin"
strip "$out/libexec/stage-launch" "$out/libexec/stage-engine.bin"

# What is loaded by name while running. OpenSHMEM, MPI-IO, mpirun's own parts and CUDA are not for us.
plugins() { # FROM TO: the plugins whose libraries are all there
  local plugin
  mkdir -p "$out/lib/$2"
  for plugin in "$system/$1"/*.so*; do
    [ -e "$plugin" ] || continue
    case ${plugin##*/} in
      mca_atomic_* | mca_fbtl_* | mca_fcoll_* | mca_fs_* | mca_io_* | mca_memheap_* | mca_osc_* | \
        mca_plm_* | mca_ras_* | mca_rmaps_* | mca_scoll_* | mca_sharedfp_* | mca_spml_* | \
        mca_sshmem_* | *cuda*) continue ;;
    esac
    ldd "$plugin" | grep -q 'not found' && continue
    # Links within the directory stay links; others would point out of it.
    case $(readlink "$plugin") in
      */* | '') install -m 644 "$plugin" "$out/lib/$2/" ;;
      *) cp -d "$plugin" "$out/lib/$2/" ;;
    esac
  done
}
plugins openmpi/lib/openmpi3 openmpi
plugins pmix2/lib/pmix pmix
plugins ucx ucx
plugins libibverbs libibverbs

find "$out" -type f \( -name '*.so*' -o -path '*/libexec/*' \) | while read -r file; do
  needs "$file"
done | sort -u | while read -r soname path; do
  case $path in "$system"/ucx/*) continue ;; esac  # there already
  [ -e "$out/lib/$soname" ] || install -m 644 "$path" "$out/lib/$soname"
done
install -m 755 "$interpreter" "$out/lib/${interpreter##*/}"

# DT_RPATH, not DT_RUNPATH: it comes before LD_LIBRARY_PATH, which belongs to the image, and it
# serves what the libraries and plugins load in their turn, as long as these have none of their own.
for program in stage-launch stage-engine.bin; do
  patchelf --set-interpreter "$prefix/lib/${interpreter##*/}" "$out/libexec/$program"
  patchelf --force-rpath --set-rpath "$prefix/lib:$prefix/lib/ucx" "$out/libexec/$program"
done
find "$out/lib" -type f | while read -r file; do
  [ -z "$(patchelf --print-rpath "$file" 2>/dev/null)" ] || patchelf --remove-rpath "$file"
done

# Open MPI's own words for what goes wrong; its settings are not the image's.
cp -r "$(dirname "$(readlink -f /usr/share/openmpi/help-mpi-runtime.txt)")" "$out/share/openmpi"
: >"$out/etc/openmpi/openmpi-mca-params.conf"
install -m 644 /etc/ssl/certs/ca-certificates.crt "$out/etc/ca-certificates.crt"

drivers=$(cd "$out/lib/libibverbs" && for file in *-rdmav*.so; do
  [ ! -e "$file" ] || printf ':%s' "$prefix/lib/libibverbs/${file%-rdmav*}"
done)
cat >"$out/etc/environment.sh" <<END
# Where this Open MPI, PMIx and libibverbs find their parts. The image may have others.
unset LD_LIBRARY_PATH LD_PRELOAD OPAL_DESTDIR PMIX_DESTDIR
export OPAL_PREFIX=$prefix OPAL_LIBDIR=$prefix/lib OPAL_PKGLIBDIR=$prefix/lib/openmpi
export OPAL_PKGDATADIR=$prefix/share/openmpi OPAL_SYSCONFDIR=$prefix/etc/openmpi
export OMPI_MCA_mca_base_component_path=$prefix/lib/openmpi
export OMPI_MCA_mca_base_param_files=$prefix/etc/openmpi/openmpi-mca-params.conf
export PMIX_PREFIX=$prefix PMIX_INSTALL_PREFIX=$prefix PMIX_LIBDIR=$prefix/lib
export PMIX_PKGLIBDIR=$prefix/lib/pmix PMIX_SYSCONFDIR=$prefix/etc
export PMIX_MCA_mca_base_component_path=$prefix/lib/pmix
export HWLOC_PLUGINS_PATH=$prefix/lib/hwloc IBV_DRIVERS=${drivers#:}
END

cat >"$out/bin/stage-launch" <<END
#!/bin/sh
# Under somebody's mpirun the variables of that MPI are not for this one.
if [ -n "\${OMPI_COMM_WORLD_SIZE:-}\${PMIX_NAMESPACE:-}\${PMI_RANK:-}" ]; then
  for name in \$(env | sed -n 's/^\(\(OMPI\|OPAL\|ORTE\|PRTE\|PMIX\|PMI\)_[A-Za-z0-9_]*\)=.*/\1/p'); do
    unset "\$name"
  done
fi
. $prefix/etc/environment.sh
exec $prefix/libexec/stage-launch "\$@"
END

cat >"$out/libexec/stage-engine" <<END
#!/bin/sh
other=\${OMPI_COMM_WORLD_SIZE:-}\${PMIX_NAMESPACE:-}\${PMI_RANK:-}
if [ -z "\${STAGE_MODEL_NODES:-}" ] && [ -n "\$other" ]; then
  echo "stage-engine: this one has an MPI of its own, which another MPI's mpirun or srun cannot" \\
    "start; let it start $prefix/bin/stage-launch on every node" >&2
  exit 2
fi
. $prefix/etc/environment.sh
# Alone it needs no mpirun, and must not look for one.
[ -n "\${STAGE_MODEL_NODES:-}" ] || export OMPI_MCA_ess_singleton_isolated=1
# The image's certificates come first: a site may have added its own.
if [ -z "\${SSL_CERT_FILE:-}\${CURL_CA_BUNDLE:-}" ]; then
  SSL_CERT_FILE=$prefix/etc/ca-certificates.crt
  for file in /etc/ssl/cert.pem /etc/ssl/ca-bundle.pem /etc/pki/tls/certs/ca-bundle.crt \\
    /etc/ssl/certs/ca-certificates.crt; do
    [ ! -r "\$file" ] || SSL_CERT_FILE=\$file
  done
  export SSL_CERT_FILE
fi
exec $prefix/libexec/stage-engine.bin "\$@"
END
chmod 755 "$out/bin/stage-launch" "$out/libexec/stage-engine"
ln -s ../libexec/stage-engine "$out/bin/stage-engine"
