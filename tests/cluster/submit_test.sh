#!/bin/bash
# The ways to submit: each stages the model on all nodes before the job's first line.
. "$(dirname "$(readlink -f "$0")")/testlib.sh"

# The first line ends the script if the model is not there.
write_job() { # FILE [#SBATCH LINE]
  cat >"$1" <<END
#!/bin/bash
${2:-}
test -s "\$STAGE_MODEL_DIR/config.json" || exit 99
echo "dir \$STAGE_MODEL_DIR"
srun --ntasks-per-node=1 --export=ALL,STAGE_MODEL_DIR="\$STAGE_MODEL_DIR" $work/check_model
END
  chmod 755 "$1"
}

# Each byte left the store once for the whole cluster.
check_egress() {
  local got want
  got=$(store_bytes)
  want=$(demo_bytes)
  echo "    the store sent $got bytes for a model of $want"
  check [ "$got" -ge "$want" ]
  check [ $((got * 100)) -le $((want * 101)) ]
}

test_sbatch() {
  store_mark
  write_job "$work/job.sh"
  local job
  job=$(alice sbatch --parsable -N4 -o "$work/job.out" --stage-model="$STAGE_DEMO_MODEL" "$work/job.sh") ||
    fail "sbatch"
  check_completed "$job" "$work/job.out"
  check_every_node_equal "$work/job.out"
  check_egress
  check_nodes_unharmed
}

test_sbatch_directive() {
  store_mark
  write_job "$work/job.sh" "#SBATCH --stage-model=$STAGE_DEMO_MODEL"
  local job
  job=$(alice sbatch --parsable -N4 -o "$work/job.out" "$work/job.sh") || fail "sbatch"
  check_completed "$job" "$work/job.out"
  check_every_node_equal "$work/job.out"
  check_egress
}

test_srun() {
  store_mark
  alice srun -N4 --stage-model="$STAGE_DEMO_MODEL" "$work/check_model" >"$work/job.out" ||
    fail "srun: $(cat "$work/job.out")"
  check_every_node_equal "$work/job.out"
  check_egress
}

test_salloc() {
  store_mark
  alice salloc -N4 --stage-model="$STAGE_DEMO_MODEL" srun "$work/check_model" >"$work/job.out" ||
    fail "salloc: $(cat "$work/job.out")"
  check_every_node_equal "$work/job.out"
  check_egress
}

# The batch step sees no option then; the record on the node is what counts.
test_export_none() {
  write_job "$work/job.sh"
  local job
  job=$(alice sbatch --parsable --export=NONE -N4 -o "$work/job.out" \
    --stage-model="$STAGE_DEMO_MODEL" "$work/job.sh") || fail "sbatch"
  check_completed "$job" "$work/job.out"
  check_every_node_equal "$work/job.out"
}

# A second job moves nothing: no byte from the store, and the files are the same ones.
test_second_job() {
  local before after
  alice srun -N4 --stage-model="$STAGE_DEMO_MODEL" "$work/check_model" >"$work/job.out" || fail "srun"
  before=$(on_every_node find "$MODELS" -name '*.safetensors' -printf '%i %T@ %p\n')
  check [ "$(wc -l <<<"$before")" = 12 ]
  store_mark
  alice srun -N4 --stage-model="$STAGE_DEMO_MODEL" "$work/check_model" >"$work/job.out" || fail "srun"
  check_every_node_equal "$work/job.out"
  check_equal "bytes from the store" "$(store_bytes)" 0
  after=$(on_every_node find "$MODELS" -name '*.safetensors' -printf '%i %T@ %p\n')
  check_equal "inodes and times" "$after" "$before"
}

# Tasks of one array, several at once on a node, share one destination.
test_array() {
  write_job "$work/job.sh"
  local job
  job=$(alice sbatch --parsable --array=0-3 -N2 -n2 -c1 --oversubscribe -o "$work/job.%a.out" \
    --stage-model="$STAGE_DEMO_MODEL" "$work/job.sh") || fail "sbatch"
  local task
  for task in 0 1 2 3; do
    eventually 120 task_ended "${job}_$task"
    check_equal "task $task's output" "$(grep -c ' equal$' "$work/job.$task.out")" 2
  done
  check_nodes_unharmed
}

task_ended() { # JOB_TASK
  [ -z "$(cluster exec squeue -h -r -j "$1" 2>/dev/null)" ]
}

run_tests "$@"
