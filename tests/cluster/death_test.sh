#!/bin/bash
# Something dies while a model is staged: the others notice and end within seconds, no user code runs,
# nothing half-written stands under the final name, and the next job works.
. "$(dirname "$(readlink -f "$0")")/testlib.sh"

LIMIT=10  # seconds until every other prolog has ended

# Submits a job whose staging is slow, and waits until every node's engine is in the middle of it.
start_slow_job() { # SBATCH-ARGUMENT...
  slow_down
  job=$(alice sbatch --parsable -N4 -o "$work/job.out" --stage-model="$STAGE_DEMO_MODEL" "$@" \
    --wrap "touch $work/started") || fail "sbatch"
  local k
  for k in 1 2 3 4; do eventually 20 pid_on "$k" stage-engine >/dev/null; done
  eventually 20 is_writing 4
}

is_writing() { # K
  [ "$(cluster node "$1" du -sm "$MODELS" | cut -f1)" -ge 20 ]
}

# Everything on these nodes has ended in time.
check_ended() { # K...
  local start=$SECONDS
  eventually $LIMIT no_stagers "$@"
  echo "    ended on nodes $* within $((SECONDS - start + 1)) s"
}

check_failed() { # REGEX
  eventually 30 job_ended "$job"
  check_equal "state of job $job" "$(job_field "$job" JobState)" FAILED
  check [ ! -e "$work/started" ]
  check_match "the job's output" "$(cat "$work/job.out")" "$1"
  echo "    $(grep . "$work/job.out")"
}

check_next_job_works() {
  full_speed
  alice srun -N4 --stage-model="$STAGE_DEMO_MODEL" "$work/check_model" >"$work/next.out" ||
    fail "the next job: $(cat "$work/next.out")"
  check_every_node_equal "$work/next.out"
  check_nodes_unharmed
}

kill_program() { # K PROGRAM
  check cluster node "$1" kill -KILL "$(pid_on "$1" "$2")"
  check_ended 1 2 3 4
  check_failed "n$1"
  check_nothing_final 1 2 3 4
  check_nodes_unharmed
  check_next_job_works
}

test_engine_killed() {
  start_slow_job
  kill_program 3 stage-engine
}

test_first_engine_killed() {
  start_slow_job
  kill_program 1 stage-engine
}

test_launcher_killed() {
  start_slow_job
  kill_program 3 stage-launch
}

# The launcher that the others meet at.
test_first_launcher_killed() {
  start_slow_job
  kill_program 1 stage-launch
}

test_scancel() {
  start_slow_job
  alice scancel "$job"
  check_ended 1 2 3 4
  eventually 10 job_is "$job" CANCELLED
  check [ ! -e "$work/started" ]
  check_nothing_final 1 2 3 4
  check_nodes_unharmed
  check_next_job_works
}

# The job itself is Slurm's to end: without --no-requeue it would go back to the queue.
test_node_dies() {
  start_slow_job --no-requeue
  cluster kill-node 3
  check_ended 1 2 4
  check_nothing_final 1 2 4
  eventually 60 job_ended "$job"
  echo "    the job's state: $(job_field "$job" JobState)"
  check [ ! -e "$work/started" ]
  full_speed
  check cluster start-node 3
  check_nothing_final 3
  check_nodes_unharmed
  check_next_job_works
}

# Index 0 is special to the launchers, and it is the batch host.
test_first_node_dies() {
  start_slow_job --no-requeue
  cluster kill-node 1
  check_ended 2 3 4
  check_nothing_final 2 3 4
  eventually 60 job_ended "$job"
  echo "    the job's state: $(job_field "$job" JobState)"
  check [ ! -e "$work/started" ]
  full_speed
  check cluster start-node 1
  check_nothing_final 1
  check_nodes_unharmed
  check_next_job_works
}

# A cut cable is noticed by the heartbeat, not by a closed connection.
test_cable_cut() {
  start_slow_job
  cluster node 3 ip link set eth0 down
  check_ended 1 2 4
  check_ended 3
  cluster node 3 ip link set eth0 up
  check [ ! -e "$work/started" ]
  alice scancel "$job"
  eventually 60 job_ended "$job"
  check_nothing_final 1 2 3 4
  check_nodes_unharmed
  check_next_job_works
}

run_tests "$@"
