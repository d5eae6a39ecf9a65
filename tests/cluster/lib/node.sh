# A node: nested namespaces with a link, a disk, a private /run and one slurmd. Sourced by ../cluster.
# All but node_main and start_node_and_wait run in the controller's namespaces.

start_node() { # K
  local k=$1 pid init t
  pid=$(cat "$D/nodes/n$k.pid" 2>/dev/null) && [ -d "/proc/$pid" ] && die "node $k is up already"
  [ -f "$(image "$k")" ] || die "there is no node $k"
  # A dead node's link goes with its network namespace, but a moment later.
  ip link del "veth$k" 2>/dev/null || :
  # The node's link is made only when its network namespace exists, so the node waits for it.
  unshare "${NAMESPACES[@]}" bash "$SELF" __node "$k" </dev/null >"$D/log/node.n$k.out" 2>&1 &
  pid=$!
  echo "$pid" >"$D/nodes/n$k.pid"
  for ((t = 0; t < 200; t++)); do
    init=$(child_of "$pid") && break
    sleep 0.02
  done
  ip link add "veth$k" type veth peer name eth0 netns "$init"
  ip link set "veth$k" master bridge up
  [ -f "$D/rate" ] && limit "veth$k" "$(cat "$D/rate")"
  nsenter -t "$init" -n ip addr add "$(node_address "$k")/16" dev eth0
  [ -f "$D/rate" ] && nsenter -t "$init" -n bash -c "$(declare -f limit); limit eth0 $(cat "$D/rate")"
  nsenter -t "$init" -n ip link set eth0 up
}

kill_node() { # K
  local k=$1 pid init
  pid=$(cat "$D/nodes/n$k.pid" 2>/dev/null) && init=$(child_of "$pid") || die "node $k is down"
  kill -KILL "$init"
  while [ -d "/proc/$pid" ]; do sleep 0.02; done
  rm -f "$D/nodes/n$k.pid"
  ip link del "veth$k" 2>/dev/null || :
}

# Both ends of a link are limited, so that no direction is free.
limit() { # DEVICE RATE|off
  tc qdisc del dev "$1" root 2>/dev/null || :
  [ "$2" = off ] || tc qdisc add dev "$1" root tbf rate "$2" burst 256kb latency 200ms
}

set_rate() { # RATE|off
  local pid init k
  if [ "$1" = off ]; then rm -f "$D/rate"; else echo "$1" >"$D/rate"; fi
  for pid in "$D"/nodes/n*.pid; do
    k=${pid##*/n}
    k=${k%.pid}
    init=$(child_of "$(cat "$pid")") || continue
    limit "veth$k" "$1"
    nsenter -t "$init" -n bash -c "$(declare -f limit); limit eth0 $1"
  done
}

# pid 1 of node K.
node_main() { # K
  local k=$1 t
  hostname "n$k"
  mount -t tmpfs -o mode=755 tmpfs /run
  mount -t tmpfs -o mode=1777 tmpfs /dev/shm
  mkdir -p /run/munge /run/pmix
  mount --bind "$D/munge" /run/munge
  mount_disk "$k"
  install -d -m 755 "$D/nvme/models"
  mkdir -p "$D/slurm/spool/n$k"
  ip link set lo up
  for ((t = 0; t < 500; t++)); do
    ip -br link show eth0 2>/dev/null | grep -q ' UP ' && break
    sleep 0.02
  done
  "${site_environment[@]}" slurmd -D -N "n$k" &
  reap_for_ever
}

# A pid 1 must take in orphans, and bash does so only while it waits.
reap_for_ever() {
  while :; do
    wait || :
    sleep 1
  done
}

start_node_and_wait() { # K
  inside_controller
  "${inside[@]}" setsid bash "$SELF" __start-node "$1"
  local t
  for ((t = 0; t < 300; t++)); do
    # The controller may not have noticed that the node was away: its own slurmd is asked too.
    if "$SELF" node "$1" scontrol show slurmd >/dev/null 2>&1; then
      case $("${inside[@]}" sinfo -h -n "n$1" -o %T 2>/dev/null) in
        idle | mixed | allocated) return 0 ;;
      esac
    fi
    sleep 0.2
  done
  die "node $1 did not come up within 60 s; see $D/log/slurmd.n$1.log"
}
