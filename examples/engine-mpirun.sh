#!/bin/bash
# The engine alone, without Slurm: mpirun (Open MPI) starts it on the hosts of a file, one rank each.
#
#   examples/engine-mpirun.sh HOSTFILE az://account/models/llama-405b/ /nvme/llama-405b [OPTION...]
#
# HOSTFILE has one host a line; mpirun reaches them by ssh.
set -euo pipefail
[ $# -ge 3 ] || { sed -n 2,6p "$0"; exit 2; }
hosts=$1 source=$2 dest=$3
shift 3

# Credentials by name, never on the command line, where every user of the hosts could read them. Only
# those that are set: mpirun complains about others.
forward=()
for name in AZURE_STORAGE_ACCOUNT AZURE_STORAGE_KEY AZURE_STORAGE_SAS_TOKEN \
  AZURE_STORAGE_CONNECTION_STRING AZURE_STORAGE_BLOB_ENDPOINT; do
  [ -n "${!name:-}" ] && forward+=(-x "$name")
done

exec mpirun --hostfile "$hosts" --map-by ppr:1:node ${forward[@]+"${forward[@]}"} \
  stage-engine "$source" "$dest" "$@"
