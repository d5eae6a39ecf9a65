#!/bin/bash
# install_test.sh CMAKE BUILD: installs twice below an empty directory.
set -eu
cmake=$1 build=$2
DESTDIR=$(mktemp -d /tmp/install_test.XXXXXX)
export DESTDIR
trap 'rm -rf "$DESTDIR"' EXIT
fail() { echo "FAILED: $*"; find "$DESTDIR"; exit 1; }

"$cmake" --install "$build" --prefix /usr >/dev/null
etc=$DESTDIR/etc/slurm
for file in usr/bin/stage-engine usr/bin/stage-launch etc/slurm/stage_model.toml \
  etc/slurm/plugstack.conf.d/stage_model.conf usr/share/stage-model/prolog.d/stage-model.sh \
  usr/share/stage-model/epilog.d/stage-model.sh usr/share/stage-model/examples/train.sbatch; do
  [ -s "$DESTDIR/$file" ] || fail "$file is not there"
done
[ -x "$DESTDIR/usr/share/stage-model/prolog.d/stage-model.sh" ] || fail "prolog.d is not executable"
plugin=$(sed -n 's/^optional //p' "$etc/plugstack.conf.d/stage_model.conf")
[ -s "$DESTDIR$plugin" ] || fail "plugstack names $plugin, which is not there"
ls "$etc"/*.example 2>/dev/null && fail "examples of what was not there before"

echo '# edited' >>"$etc/stage_model.toml"
"$cmake" --install "$build" --prefix /usr >/dev/null
tail -n 1 "$etc/stage_model.toml" | grep -qx '# edited' || fail "an edited file was overwritten"
[ -s "$etc/stage_model.toml.example" ] || fail "the new file was not put beside"
