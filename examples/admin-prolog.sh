#!/bin/bash
# A prolog of an admin's own: one model that the whole site wants on every node of a partition, whoever
# runs there. No flag and no plugin is involved; stage-launch needs only the nodes and its own place.
#
#   slurm.conf:  Prolog=/etc/slurm/prolog.d/admin-prolog.sh   PrologFlags=Alloc
#
# For jobs that ask for their own models see ../prolog.d/stage-model.sh (etc/prolog.d in the source).
set -u
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

partition=inference
model=az://account/models/llama-8b/
directory=/nvme/site/llama-8b
# Read by root alone: AZURE_STORAGE_SAS_TOKEN='...'
secrets=/etc/stage-model/site-credentials

[ "${SLURM_JOB_PARTITION:-}" = "$partition" ] || exit 0

set -a
[ -r "$secrets" ] && . "$secrets"
set +a
# From slurm.conf's rules alone, so it asks no daemon; list and order are the same on all nodes.
nodes=$(scontrol show hostnames "${SLURM_JOB_NODELIST:-${SLURM_NODELIST:-}}" | paste -sd,)
index=$(tr , '\n' <<<"$nodes" | grep -nxF "${SLURMD_NODENAME:-}" | cut -d: -f1)
credentials=()
[ -n "${AZURE_STORAGE_SAS_TOKEN:-}" ] && credentials=(--credential-env AZURE_STORAGE_SAS_TOKEN)

# Unchanged since the last job: about a second. Its own user, as a service of the site.
if ! timeout 1800 stage-launch --job "${SLURM_JOB_ID:?}" --nodes "$nodes" --index $((index - 1)) \
  --user stage --uid "$(id -u stage)" --gid "$(id -g stage)" \
  ${credentials[@]+"${credentials[@]}"} -- "$model" "$directory" --no-progress </dev/null; then
  # Never a status other than 0: it would drain the node. The job runs and finds no model, or an old one.
  logger -t stage-model "job ${SLURM_JOB_ID}: $model could not be staged to $directory"
fi
exit 0
