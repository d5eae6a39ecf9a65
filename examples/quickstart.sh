#!/bin/bash
# stage-model on a Slurm cluster of four nodes, all of it on this machine:
#
#   examples/quickstart.sh
#
# Needs Debian 12 or 13, root (namespaces, loop devices), 4 GB of disk. Leaves nothing running, and
# may be repeated. What it brings up is tests/cluster/cluster, which you can use by hand as well.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

# A cluster of its own, so that one brought up by hand is left alone.
STAGE_CLUSTER_DIR=/tmp/stage-quickstart.$(pwd | cksum | cut -d' ' -f1)
export STAGE_CLUSTER_DIR
export STAGE_BUILD_DIR=${STAGE_BUILD_DIR:-$PWD/build/release}
tree=$PWD
cluster=tests/cluster/cluster

say() {
  printf '\n== %s\n' "$*"
}

say "1. Installing what is missing (Debian packages by name, Azurite by npm)"
tests/support/packages.sh
tests/support/azurite.sh

say "2. Building the plugin, the launcher and the engine ($STAGE_BUILD_DIR)"
cmake --preset release -B "$STAGE_BUILD_DIR" >/dev/null
cmake --build "$STAGE_BUILD_DIR" -j "$(nproc)" \
  --target stage-engine --target stage-launch --target spank_stage_model | tail -n 1

say "3. Starting Slurm: a controller, four nodes with a disk each, Azurite as the object store"
trap '"$tree/$cluster" down' EXIT
$cluster up 4
$cluster exec sinfo

say "4. Making a model of 304 MiB in 50 files, and uploading it to the store"
set -a # what follows is exported: sbatch takes the credentials along by name
eval "$($cluster source)"
set +a
echo "$STAGE_DEMO_MODEL"

say "5. Submitting a job as the ordinary user alice"
home=$STAGE_CLUSTER_DIR/home/alice
cat >"$home/job.sh" <<JOB
#!/bin/bash
echo "The first line of the job. The model is in \$STAGE_MODEL_DIR"
srun --ntasks-per-node=1 bash -c '
  cd "\$STAGE_MODEL_DIR"
  find . -type f ! -path "./.stage-model/*" -print0 | LC_ALL=C sort -z | xargs -0 sha256sum |
    cmp - $STAGE_DEMO_SHA256 && same="every checksum equals the uploaded file"
  echo "\$(hostname): \$(du -sh . | cut -f1) in \$(find . -type f ! -path "./.stage-model/*" | wc -l) files;" \
    "\${same:-checksums differ}"'
ls -lh "\$STAGE_MODEL_DIR"
JOB

submit() { # OUTPUT
  echo "alice\$ sbatch --wait -N4 --stage-model=$STAGE_DEMO_MODEL job.sh"
  local start
  start=$(date +%s%N)
  (cd "$home" && "$tree/$cluster" as alice \
    sbatch --wait -N4 --stage-model="$STAGE_DEMO_MODEL" -o "$1" job.sh) ||
    { echo "the job failed; it printed:"; cat "$home/$1"
      tail -n 30 "$STAGE_CLUSTER_DIR"/log/slurm*.log
      exit 1; } >&2
  awk -v ns=$(($(date +%s%N) - start)) \
    'BEGIN { printf "%.1f s from sbatch to the end of the job\n", ns / 1e9 }'
}

stages() { # what the engine wrote about its last run
  $cluster node 1 sh -c "cat $STAGE_CLUSTER_DIR/nvme/models/alice/*/.stage-model/log"
}

submit first.out

say "6. What each node holds (the job's output)"
cat "$home/first.out"

say "7. How long each stage took: first start to last end, so the stages overlap"
stages

say "8. The same job again: nothing is downloaded or broadcast"
submit second.out
grep '^n[1-4]:' "$home/second.out"
stages

say "9. Taking everything down"
