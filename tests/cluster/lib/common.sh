# Where things lie, and how to get inside. Sourced by ../cluster.

default_dir() {
  local hash
  hash=$(printf %s "$TREE" | cksum)
  echo "/tmp/stage-cluster.${hash%% *}"
}

D=${STAGE_CLUSTER_DIR:-$(default_dir)}
BUILD=${STAGE_BUILD_DIR:-$TREE/build/release}
PLUGIN=$BUILD/lib/spank_stage_model.so
export STAGE_CLUSTER_DIR=$D STAGE_BUILD_DIR=$BUILD

NETWORK=10.77
CONTROLLER=$NETWORK.0.1
NAMESPACES=(--mount --net --uts --ipc --pid --fork --kill-child=SIGKILL --mount-proc
            --propagation private)

die() {
  echo "cluster: $*" >&2
  exit 1
}

node_address() { # K
  echo "$NETWORK.1.$1"
}

# The only child of a namespace's `unshare` is its pid 1.
child_of() { # PID
  local children
  children=$(cat "/proc/$1/task/$1/children" 2>/dev/null) || return 1
  [ -n "$children" ] || return 1
  echo "${children%% *}"
}

# A pid alone may have been given to another process: its start time goes with it.
start_time() { # PID
  local stat
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  stat=${stat##*) }
  set -- $stat
  echo "${20}"
}

# The pid of the outer `unshare`, or failure if the cluster is down.
holder() {
  local pid started
  read -r pid started 2>/dev/null <"$D/holder" || return 1
  [ "$(start_time "$pid")" = "$started" ] || return 1
  echo "$pid"
}

# Sets `inside` to the command that enters the controller's namespaces. -r keeps the caller's root.
inside_controller() {
  local pid init
  [ "$(id -u)" = 0 ] || die "needs root"
  pid=$(holder) && init=$(child_of "$pid") || die "the cluster is down (tests/cluster/cluster up N)"
  inside=(nsenter -t "$init" -m -u -i -n -p -r)
}

# A site's shell: Slurm's default configuration, the programs under test on PATH, and nothing left
# over that says we are inside some job already.
site_environment=(env -u SLURM_CONF PATH="$D/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")

enter_controller() { # CMD...
  inside_controller
  exec "${inside[@]}" --wd="$PWD" "${site_environment[@]}" "$@"
}

enter_as() { # USER CMD...
  local user=$1 home=$D/home/$1 directory=$PWD
  shift
  [ -d "$home" ] || die "no such user: $user (alice and bob are there)"
  inside_controller
  local become=(setpriv --reuid "$user" --regid "$user" --init-groups)
  "${inside[@]}" --wd=/ "${become[@]}" test -w "$directory" || directory=$home
  exec "${inside[@]}" --wd=/ "${become[@]}" "${site_environment[@]}" \
    USER="$user" LOGNAME="$user" HOME="$home" SHELL=/bin/bash \
    sh -c 'cd "$1" && shift && exec "$@"' sh "$directory" "$@"
}

enter_node() { # K CMD...
  local k=$1
  shift
  inside_controller
  exec "${inside[@]}" --wd="$PWD" "${site_environment[@]}" bash -c '
    directory=$1 k=$2; shift 2
    outer=$(cat "$STAGE_CLUSTER_DIR/nodes/n$k.pid" 2>/dev/null) &&
      init=$(cat "/proc/$outer/task/$outer/children" 2>/dev/null) && [ -n "$init" ] ||
      { echo "cluster: node $k is down" >&2; exit 1; }
    exec nsenter -t "${init%% *}" -m -u -i -n -p -r --wd="$directory" "$@"' node "$PWD" "$k" "$@"
}
