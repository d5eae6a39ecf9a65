# Every configuration file of the cluster. Sourced by ../cluster.

# Prints stdin without the lines whose key (text before '=') is also set in $1's lines: what the
# caller sets wins, and no key stands twice.
without_keys_of() { # LINES
  awk -v lines="$1" '
    function key(line) { sub(/[ \t]*=.*/, "", line); sub(/^[ \t]+/, "", line); return tolower(line) }
    BEGIN { count = split(lines, line, "\n"); for (i = 1; i <= count; i++) set[key(line[i])] = 1 }
    !(key($0) in set)'
}

write_accounts() {
  { grep -v '^alice:\|^bob:' /etc/passwd
    echo "alice:x:20001:20001:Alice:$D/home/alice:/bin/bash"
    echo "bob:x:20002:20002:Bob:$D/home/bob:/bin/bash"; } >"$D/site/passwd"
  { grep -v '^alice:\|^bob:\|^modelers:' /etc/group
    echo "alice:x:20001:"
    echo "bob:x:20002:"
    echo "modelers:x:20100:alice,bob"; } >"$D/site/group"  # a secondary group for both
  install -d -m 700 -o 20001 -g 20001 "$D/home/alice"
  install -d -m 700 -o 20002 -g 20002 "$D/home/bob"
}

write_hosts() { # N
  local k
  { echo "127.0.0.1 localhost"
    echo "$CONTROLLER ctl"
    for ((k = 1; k <= $1; k++)); do echo "$(node_address "$k") n$k"; done; } >"$D/site/hosts"
}

write_slurm_conf() { # N
  local n=$1 k extra=${STAGE_CLUSTER_SLURM_CONF:-}
  { without_keys_of "$extra" <<END
ClusterName=stage
SlurmctldHost=ctl($CONTROLLER)
SlurmUser=slurm
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation=$D/slurm/state
SlurmdSpoolDir=$D/slurm/spool/%n
SlurmctldPidFile=$D/slurm/state/slurmctld.pid
SlurmdPidFile=$D/slurm/spool/%n/slurmd.pid
SlurmctldLogFile=$D/log/slurmctld.log
SlurmdLogFile=$D/log/slurmd.%n.log
SlurmctldDebug=verbose
SlurmdDebug=debug
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,bf_interval=1
PrologFlags=Alloc,DeferBatch
ReturnToService=2
SlurmdTimeout=10
SlurmctldTimeout=60
MessageTimeout=30
BatchStartTimeout=1830
KillWait=5
UnkillableStepTimeout=60
MinJobAge=3600
CompleteWait=0
InactiveLimit=0
END
    printf '%s\n' "$extra"
    for ((k = 1; k <= n; k++)); do
      echo "NodeName=n$k NodeAddr=$(node_address "$k") CPUs=4 RealMemory=1000 State=UNKNOWN"
    done
    echo "PartitionName=main Nodes=n[1-$n] Default=YES MaxTime=INFINITE OverSubscribe=NO State=UP"
  } >"$D/etc/slurm.conf"
  # Nodes share the machine's /tmp: pmix's directories there would collide.
  echo "PMIxCliTmpDirBase=/run/pmix" >"$D/etc/mpi.conf"
  # slurmd 22.05 loads a cgroup plugin even when nothing uses it; finding one by itself fails here.
  echo "CgroupPlugin=cgroup/v1" >"$D/etc/cgroup.conf"
}

write_plugstack() {
  : >"$D/etc/plugstack.conf"
  [ "${STAGE_CLUSTER_PLUGIN:-}" = off ] && return
  echo "required $D/lib/spank_stage_model.so ${STAGE_CLUSTER_PLUGIN:-config=$D/etc/stage_model.toml}" \
    >"$D/etc/plugstack.conf"
}

azure_variables() {
  local name list=
  for name in BLOB_ENDPOINT ACCOUNT KEY SAS_TOKEN CONNECTION_STRING; do
    list+=", \"AZURE_STORAGE_$name\""
  done
  echo "${list#, }"
}

write_stage_config() { # LINES
  { without_keys_of "$1" <<END
paths.roots = ["$D/nvme/models"]
paths.state_dir = "/run/stage-model"
paths.launcher = "$D/bin/stage-launch"
paths.engine = "$D/bin/stage-engine"
source.credentials = [$(azure_variables)]
END
    printf '%s\n' "$1"; } >"$D/etc/stage_model.toml.new"
  chmod 644 "$D/etc/stage_model.toml.new"
  mv "$D/etc/stage_model.toml.new" "$D/etc/stage_model.toml"  # a prolog never sees half of it
}

cluster_config() { # LINE...
  [ -f "$D/etc/stage_model.toml" ] || die "the cluster is down (tests/cluster/cluster up N)"
  write_stage_config "$(printf '%s\n' "$@")"
}
