# What the cluster tests share. A test file sources this, defines functions named test_*, and ends
# with `run_tests "$@"`, which runs each in a subshell (all, or those named) and fails if one did.
#
# The tests use a cluster of their own (tests/cluster/up and down are ctest fixtures), so one brought
# up by hand is left alone. To run a file by hand:
#   tests/cluster/fixture up; tests/cluster/submit_test.sh; tests/cluster/fixture down
set -uo pipefail

CLUSTER_TESTS=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
if [ -z "${STAGE_TEST_CLUSTER_DIR:-}" ]; then
  STAGE_TEST_CLUSTER_DIR=/tmp/stage-ctest.$(printf %s "$CLUSTER_TESTS" | cksum | cut -d' ' -f1)
fi
export STAGE_TEST_CLUSTER_DIR STAGE_CLUSTER_DIR=$STAGE_TEST_CLUSTER_DIR
D=$STAGE_CLUSTER_DIR
NODES=4
MODELS=$D/nvme/models  # the root of the configuration, on each node's own disk

cluster() {
  "$CLUSTER_TESTS/cluster" "$@"
}

# As alice, in a directory of the test's own, which all nodes share.
alice() {
  (cd "$work" && cluster as alice "$@")
}

on_every_node() { # CMD...
  local k
  for ((k = 1; k <= NODES; k++)); do cluster node "$k" "$@" || return; done
}

fail() {
  echo "    FAILED: $*" >&2
  exit 1
}

check() { # CMD... must succeed
  "$@" || fail "$*"
}

check_equal() { # WHAT ACTUAL EXPECTED
  [ "$2" = "$3" ] || fail "$1 is '$2', not '$3'"
}

check_match() { # WHAT TEXT EXTENDED-REGEX
  [[ $2 =~ $3 ]] || fail "$1 does not match /$3/: $2"
}

check_no_match() { # WHAT TEXT EXTENDED-REGEX
  [[ ! $2 =~ $3 ]] || fail "$1 matches /$3/: $2"
}

# Waits until CMD succeeds; fails the test after SECONDS.
eventually() { # SECONDS CMD...
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ $SECONDS -lt $end ] || fail "not within the time allowed: $*"
    sleep 0.1
  done
}

all_idle() {
  [ "$(cluster exec sinfo -h -t idle -o %D)" = $NODES ]
}

# Idle, and with no reason noted: a drained or failed node has one.
check_nodes_unharmed() {
  eventually 20 all_idle
  check_equal "sinfo -R" "$(cluster exec sinfo -h -R)" ""
}

job_field() { # JOB FIELD
  cluster exec scontrol show job "$1" | grep -oE "(^| )$2=[^ ]*" | head -n 1 | cut -d= -f2-
}

job_is() { # JOB STATE
  [ "$(job_field "$1" JobState)" = "$2" ]
}

job_ended() { # JOB
  case $(job_field "$1" JobState) in
    PENDING | RUNNING | COMPLETING | CONFIGURING | "") return 1 ;;
  esac
}

# The job ran to its end without an error; what it printed is shown if not.
check_completed() { # JOB OUTPUT
  eventually 60 job_ended "$1"
  job_is "$1" COMPLETED || fail "job $1 is $(job_field "$1" JobState), printed: $(cat "$2" 2>/dev/null)"
}

# The checks of what a node holds, run by jobs and by tests alike: prints "HOST equal" where every file
# of the demo model is there with the right bytes and nothing else is.
write_check_model() {
  cat >"$work/check_model" <<END
#!/bin/bash
cd "\${1:-\$STAGE_MODEL_DIR}" || exit 1
find . -type f ! -path './.stage-model/*' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum |
  diff - "$STAGE_DEMO_SHA256" && echo "\$(hostname) equal"
END
  chmod 755 "$work/check_model"
}

EVERY_NODE_EQUAL='n1 equal
n2 equal
n3 equal
n4 equal'

check_every_node_equal() { # OUTPUT-FILE
  check_equal "what the nodes hold" "$(grep ' equal$' "$1" | sort)" "$EVERY_NODE_EQUAL"
}

# Bytes and requests that the store answered since `store_mark`, from Azurite's access log.
store_mark() {
  store_lines=$(wc -l <"$D/log/azurite.access.log")
}

# Lists (of the container) have no length there and are not counted.
store_bytes() {
  tail -n +$((store_lines + 1)) "$D/log/azurite.access.log" |
    awk '/"GET .*" 20[06] [0-9]+$/ { bytes += $NF } END { print bytes + 0 }'
}

store_requests() {
  tail -n +$((store_lines + 1)) "$D/log/azurite.access.log" | grep -c '"[A-Z]* /'
}

demo_bytes() {
  find "$STAGE_DEMO_FILES" -type f -printf '%s\n' | awk '{ bytes += $1 } END { print bytes }'
}

# Nodes as a new machine has them: no model, no record. Only when no job is running.
wipe_nodes() {
  on_every_node sh -c "rm -rf '$MODELS'/* '$MODELS'/.[!.]*"
}

# A rate that makes staging the demo model take about half a minute.
slow_down() {
  cluster rate 80mbit
}

full_speed() {
  cluster rate off
}

# Programs of a staging on node K.
stagers() { # K
  cluster node "$1" ps -eo pid=,args= | grep -E 'stage-(launch|engine)|slurmstepd spank' | grep -v grep
}

no_stagers() { # K...
  local k
  for k in "$@"; do [ -z "$(stagers "$k")" ] || return 1; done
}

pid_on() { # K PROGRAM
  cluster node "$1" pgrep -o -x "$2"
}

# What users can see below the root: hidden names are partial data, the rest is final.
final_names() { # K
  cluster node "$1" find "$MODELS" -mindepth 2 -maxdepth 2 ! -name '.*'
}

check_nothing_final() { # K...
  local k
  for k in "$@"; do check_equal "final names on node $k" "$(final_names "$k")" ""; done
}

leave_as_found() {
  cluster exec scancel -u alice,bob >/dev/null 2>&1
  full_speed
  cluster config >/dev/null 2>&1
  local k
  for ((k = 1; k <= NODES; k++)); do
    cluster node "$k" true 2>/dev/null || cluster start-node "$k"
  done
  local end=$((SECONDS + 60))
  until all_idle || [ $SECONDS -ge $end ]; do sleep 0.2; done
  if ! all_idle; then
    # One test that hurts the nodes should not fail those after it.
    cluster exec sinfo -R
    cluster exec scontrol update nodename="n[1-$NODES]" state=resume
    sleep 1
  fi
  wipe_nodes
}

show_logs() {
  local log
  for log in "$D"/log/slurmctld.log "$D"/log/slurmd.*.log; do
    echo "    --- ${log##*/}"
    grep -E 'stage-|error|fatal|JobId=.*(done|Started|NodeList)' "$log" | tail -n 12
  done
  for log in "$work"/*.out; do
    [ -s "$log" ] && echo "    --- ${log##*/}" && tail -n 12 "$log"
  done
}

run_tests() {
  local names=("$@") name failed=0 start
  [ "$(id -u)" = 0 ] || { echo "needs root"; exit 77; }
  set -a
  eval "$(cluster source)" || exit 1
  set +a
  [ ${#names[@]} -gt 0 ] || mapfile -t names < <(declare -F | awk '$3 ~ /^test_/ { print $3 }')
  for name in "${names[@]}"; do
    start=$SECONDS
    work=$D/home/alice/$name
    rm -rf "$work"
    install -d -m 755 -o 20001 -g 20001 "$work"
    write_check_model
    echo "$name"
    if (wipe_nodes && "$name"); then
      echo "  ok ($((SECONDS - start)) s)"
    else
      echo "  FAILED ($((SECONDS - start)) s): $name"
      failed=1
      # Enough to see why without the cluster, which is gone by the time someone reads this.
      show_logs
    fi
    leave_as_found
  done
  exit $failed
}
