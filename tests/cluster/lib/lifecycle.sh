# up and down. Sourced by ../cluster.

check_can_run() {
  [ "$(id -u)" = 0 ] || die "needs root (namespaces, loop devices)"
  local program missing=
  for program in slurmctld slurmd munged munge mkfs.ext4 losetup nsenter unshare setpriv ip tc python3; do
    command -v "$program" >/dev/null || missing+=" $program"
  done
  [ -z "$missing" ] || die "missing:$missing (tests/run.sh installs what the cluster needs)"
  local file
  if [ "${STAGE_CLUSTER_PLUGIN:-}" != off ]; then
    for file in "$PLUGIN" "$BUILD/bin/stage-launch" "$BUILD/bin/stage-engine"; do
      [ -e "$file" ] || die "$file is not built (cmake --preset release && cmake --build --preset release)"
    done
  fi
}

prepare() { # N
  rm -rf --one-file-system "$D"
  mkdir -m 755 "$D" || die "cannot make $D"
  mkdir -p "$D"/{azurite,bin,demo,disks,etc,home,lib,log,munge,nodes,nvme,site,slurm/state,slurm/spool}
  touch "$D/.stage-cluster"
  chown slurm "$D/slurm/state" "$D/log"
  # Only root may read the store's key and what it was told; munge's key and the users' data likewise.
  chmod 700 "$D/azurite" "$D/disks"
  head -c 64 /dev/urandom | base64 -w0 >"$D/azurite/key"
  (umask 077; head -c 128 /dev/urandom >"$D/munge/key")
  echo "$1" >"$D/size"
  [ -z "${STAGE_CLUSTER_RATE:-}" ] || echo "$STAGE_CLUSTER_RATE" >"$D/rate"
  write_accounts
  write_hosts "$1"
  write_slurm_conf "$1"
  write_plugstack
  write_stage_config "${STAGE_CLUSTER_CONFIG:-}"
  local k
  for ((k = 1; k <= $1; k++)); do make_disk "$k"; done
}

cluster_up() { # N
  local n=$1 t idle=0
  [[ $n =~ ^[1-9][0-9]?$ ]] || die "up: the number of nodes is 1 to 99, not '$n'"
  check_can_run
  if [ -e "$D" ]; then
    [ -f "$D/.stage-cluster" ] && [ "$(stat -c %u "$D")" = 0 ] || die "$D is there and is not a cluster's"
    cluster_down
  fi
  prepare "$n"
  "$SUPPORT/azurite.sh" >"$D/azurite/program" || die "no Azurite: install npm, or set STAGE_AZURITE"
  # A session of its own, no descriptor of ours: the caller may be a pipe that waits for its end.
  setsid unshare "${NAMESPACES[@]}" bash "$SELF" __controller "$n" \
    </dev/null >"$D/log/controller.out" 2>&1 9>&- &
  local pid=$!
  # A child of a script leads no process group, so setsid does not fork: this is unshare's pid.
  echo "$pid $(start_time "$pid")" >"$D/holder"
  for ((t = 0; t < 300; t++)); do
    sleep 0.2
    [ -d "/proc/$pid" ] || break
    idle=$("$SELF" exec sinfo -h -t idle -o %D 2>/dev/null) || continue
    [ "$idle" = "$n" ] && grep -q 'successfully listens' "$D/log/azurite.access.log" && return 0
  done
  explain_failed_up "$n" >&2
  end_processes
  exit 1
}

explain_failed_up() { # N
  local log
  echo "cluster: not all $1 nodes were idle within 60 s; the ends of the logs in $D/log:"
  "$SELF" exec sinfo -h -N -o '  %N %T %E' 2>&1 || :
  for log in "$D"/log/*.out "$D"/log/*.log; do
    echo "--- $log"
    tail -n 15 "$log"
  done
}

# Ends the cluster's processes; false if some would not end.
end_processes() {
  local pid init t
  pid=$(holder) || return 0
  # pid 1 first: when it is gone, the kernel has ended and reaped all that was inside.
  init=$(child_of "$pid") && kill -KILL "$init" 2>/dev/null || kill -KILL "$pid" 2>/dev/null || :
  for ((t = 0; t < 200; t++)); do
    [ -d "/proc/$pid" ] || return 0
    sleep 0.05
  done
  kill -KILL "$pid"
  sleep 0.2
  [ ! -d "/proc/$pid" ]
}

cluster_down() {
  [ "$(id -u)" = 0 ] || die "needs root"
  [ -f "$D/.stage-cluster" ] || return 0
  end_processes || die "down: process $(cat "$D/holder") does not end"
  disks_released || die "down: a loop device still holds an image in $D/disks (losetup -a)"
  rm -rf --one-file-system "$D"
}

# pid 1 of the cluster.
controller_main() { # N
  local file k
  hostname ctl
  umask 022
  for file in hosts passwd group; do mount --bind "$D/site/$file" "/etc/$file"; done
  # The site's files stand where a real site has them, so that no variable needs to point at them.
  mount --bind "$D/etc" /etc/slurm
  # Bound, the build can be reached by users who may not enter the checkout's parents.
  [ -d "$BUILD/bin" ] && mount --bind "$BUILD/bin" "$D/bin"
  [ -d "$BUILD/lib" ] && mount --bind "$BUILD/lib" "$D/lib"
  mount -t tmpfs -o mode=755 tmpfs /run
  mkdir -p /run/munge
  mount --bind "$D/munge" /run/munge
  ip link set lo up
  ip link add bridge type bridge
  ip addr add "$CONTROLLER/16" dev bridge
  ip link set bridge up
  start_azurite
  munged --force --key-file="$D/munge/key" --pid-file="$D/munge/pid" --log-file="$D/log/munge.log" \
    --seed-file="$D/munge/seed" --num-threads=4
  ("${site_environment[@]}" slurmctld -D -c; echo "slurmctld ended with $?") &
  for ((k = 1; k <= $1; k++)); do start_node "$k"; done
  reap_for_ever
}
