#!/bin/bash
# What others notice: nothing of a job without the flag, nothing of anyone's secrets, and an epilog
# that does what the configuration says.
. "$(dirname "$(readlink -f "$0")")/testlib.sh"

test_no_flag_no_trace() {
  local before after
  before=$(on_every_node sh -c "find '$MODELS' /run /dev/shm -printf '%y %p\n' | grep -v pmix | sort")
  mark_logs
  alice srun -N4 sh -c 'env | grep -i stage_model; true' >"$work/job.out" 2>&1 || fail "srun"
  # The caller's own variables are not the plugin's.
  check_equal "what the job saw" "$(grep -v '^STAGE_DEMO' "$work/job.out")" ""
  alice sbatch --wait -N4 -o "$work/batch.out" --wrap true >/dev/null || fail "sbatch"
  check_equal "the job's output" "$(cat "$work/batch.out")" ""
  eventually 10 all_idle
  after=$(on_every_node sh -c "find '$MODELS' /run /dev/shm -printf '%y %p\n' | grep -v pmix | sort")
  check_equal "files on the nodes" "$after" "$before"
  # Slurm's own lines name the file; the plugin's begin with its name.
  check_equal "messages in slurmd's logs" "$(new_log_lines | grep 'stage-model: ')" ""
}

mark_logs() {
  wc -l "$D"/log/slurmd.*.log >"$work/marks"
}

new_log_lines() {
  local lines log
  while read -r lines log; do
    [ "$log" = total ] || tail -n +$((lines + 1)) "$log"
  done <"$work/marks"
}

# Everything that others, or a later reader of logs, can see while and after a model is staged.
test_secrets() {
  local key=$AZURE_STORAGE_KEY sas signature job k seen=$work/seen
  sas=$(cluster exec python3 "$CLUSTER_TESTS/../support/azure_blob.py" sas models 3600)
  signature=$(sed 's/.*sig=//;s/%.*//' <<<"$sas" | cut -c1-20)
  slow_down
  job=$(alice env -u AZURE_STORAGE_KEY AZURE_STORAGE_SAS_TOKEN="$sas" sbatch --parsable --export=NONE -N4 \
    -o "$work/job.out" --stage-model="$STAGE_DEMO_MODEL" \
    --wrap "/usr/bin/env; /usr/bin/srun --export=ALL -n4 /usr/bin/env; $work/check_model") || fail "sbatch"
  for k in 1 2 3 4; do eventually 20 pid_on "$k" stage-engine >/dev/null; done
  : >"$seen"
  for k in 1 2 3 4; do
    cluster node "$k" sh -c 'cat /proc/[0-9]*/cmdline' 2>/dev/null | tr '\0' '\n' >>"$seen"
    # Another user's view of the engine: its environment must be closed. (His own must not hold ours.)
    cluster node "$k" env -i setpriv --reuid bob --regid bob --init-groups \
      /bin/sh -c 'cat /proc/[0-9]*/environ' 2>/dev/null | tr '\0' '\n' >>"$seen"
    cluster node "$k" sh -c "tr '\\0' '\\n' </proc/\$(pgrep -o -x stage-engine)/environ" >>"$seen"
  done
  cluster exec scontrol show job -dd "$job" >>"$seen"
  full_speed
  check_completed "$job" "$work/job.out"
  cluster exec scontrol show job -dd "$job" >>"$seen"
  cat "$D"/log/slurmd.*.log "$D/log/slurmctld.log" "$work/job.out" >>"$seen"
  on_every_node sh -c "find '$MODELS' -path '*/.stage-model/*' -type f -exec cat {} +; \
    find /run/stage-model -type f -exec cat {} + 2>/dev/null; true" >>"$seen"
  check [ -s "$seen" ]
  check_equal "places with the signature" "$(grep -cF "$signature" "$seen")" 0
  check_equal "places with the key" "$(grep -cF "${key:0:24}" "$seen")" 0
  # The search itself must be able to find something.
  check_match "what was searched" "$(cat "$seen")" 'stage-engine'
}

test_keep_always() {
  alice srun -N4 --stage-model="$STAGE_DEMO_MODEL" true || fail "srun"
  eventually 10 all_idle
  local k
  for k in 1 2 3 4; do check [ "$(final_names "$k" | wc -l)" = 1 ]; done
  check_equal "records" "$(on_every_node sh -c 'ls /run/stage-model 2>/dev/null; true')" ""
}

test_keep_job() {
  cluster config 'policy.keep = "job"'
  alice srun -N4 --stage-model="$STAGE_DEMO_MODEL" "$work/check_model" >"$work/job.out" || fail "srun"
  check_every_node_equal "$work/job.out"
  eventually 20 all_idle
  check_nothing_final 1 2 3 4
  check_equal "records" "$(on_every_node sh -c 'ls /run/stage-model 2>/dev/null; true')" ""
}

# What the site gives every engine arrives once, and what a run says itself wins.
test_options_of_the_site() {
  cluster config 'engine.options = ["--verify", "store", "--lanes", "3", "--progress"]'
  alice srun -N4 --stage-model="$STAGE_DEMO_MODEL" "$work/check_model" >"$work/job.out" || fail "srun"
  check_every_node_equal "$work/job.out"
}

# The user owns the model, and another user cannot read it.
test_ownership() {
  alice srun -N4 --stage-model="$STAGE_DEMO_MODEL" true || fail "srun"
  local k owners
  for k in 1 2 3 4; do
    owners=$(cluster node "$k" find "$MODELS/alice" -printf '%U:%G\n' | sort -u)
    check_equal "owners on node $k" "$owners" 20001:20001
    cluster node "$k" setpriv --reuid bob --regid bob --init-groups ls "$MODELS/alice" 2>/dev/null &&
      fail "bob can read alice's models on node $k"
  done
  (cd / && cluster as bob srun -N4 --stage-model="$STAGE_DEMO_MODEL" \
    sh -c 'echo "$STAGE_MODEL_DIR"; test -s "$STAGE_MODEL_DIR/config.json"') >"$work/bob.out" || fail "bob's srun"
  check_equal "bob's own copies" "$(grep -c "^$MODELS/bob/" "$work/bob.out")" 4
}

# What a job without the flag pays for the plugin: measured against a second cluster without it, jobs
# in turn, and shown. A machine's load decides the digits, so only a gross difference fails.
test_cost_without_flag() {
  local i with=() without=()
  STAGE_CLUSTER_DIR=$D.plain STAGE_CLUSTER_PLUGIN=off cluster up $NODES || fail "the second cluster"
  for i in {1..10}; do
    with+=("$(first_line_after_ms "$D")")
    without+=("$(first_line_after_ms "$D.plain")")
  done
  STAGE_CLUSTER_DIR=$D.plain cluster down
  check [ ${#with[@]} = 10 ]
  local a b
  a=$(least "${with[@]}")
  b=$(least "${without[@]}")
  echo "    sbatch to the first user line, least of 10 jobs in turn: $a ms with the plugin, $b ms without," \
    "ratio $(awk "BEGIN { printf \"%.2f\", $a / $b }")"
  check [ "$a" -le $((b * 3)) ]
}

first_line_after_ms() { # CLUSTER-DIRECTORY
  local out=$1/home/alice/first-line.out start
  rm -f "$out"
  # slurmctld schedules once a second: jobs at a steady pace would all meet the same moment, and the
  # time until then is in every figure, so that only the least one tells anything.
  sleep "0.$((RANDOM % 900 + 100))"
  start=$(date +%s%N)
  (cd / && STAGE_CLUSTER_DIR=$1 cluster as alice sbatch -N4 -o "$out" --wrap 'date +%s%N' >/dev/null) ||
    fail "sbatch"
  eventually 20 test -s "$out"
  echo $((($(cat "$out") - start) / 1000000))
  eventually 20 cluster_is_free "$1"
}

cluster_is_free() { # CLUSTER-DIRECTORY
  [ -z "$(STAGE_CLUSTER_DIR=$1 cluster exec squeue -h)" ]
}

least() {
  printf '%s\n' "$@" | sort -n | head -n 1
}

run_tests "$@"
