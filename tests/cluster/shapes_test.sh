#!/bin/bash
# Jobs that are not of one piece, and clusters that are not: no job runs without its model and without
# a word, and none is held back by what it did not ask for.
. "$(dirname "$(readlink -f "$0")")/testlib.sh"

# Each component of a heterogeneous job stages its own model, or none.
test_heterogeneous_sbatch() {
  cat >"$work/job.sh" <<END
#!/bin/bash
#SBATCH -N1 -n1 --stage-model=$STAGE_DEMO_MODEL
#SBATCH hetjob
#SBATCH -N1 -n1 --stage-model=${STAGE_DEMO_MODEL}notes/
#SBATCH hetjob
#SBATCH -N1 -n1
echo "batch [\$STAGE_MODEL_DIR]"
for group in 0 1 2; do
  srun --het-group=\$group sh -c 'echo "'\$group' [\$STAGE_MODEL_DIR] \$(ls "\$STAGE_MODEL_DIR" 2>/dev/null | wc -l)"'
done
END
  alice sbatch --wait -o "$work/job.out" "$work/job.sh" >"$work/sbatch.out" 2>&1 ||
    fail "sbatch: $(cat "$work/sbatch.out" "$work/job.out")"
  local said
  said=$(cat "$work/job.out")
  check_match "the batch script" "$said" "batch \\[$MODELS/alice/demo-300m-[0-9a-f]{8}\\]"
  check_match "the first component" "$said" "0 \\[$MODELS/alice/demo-300m-[0-9a-f]{8}\\] [1-9]"
  check_match "the second component" "$said" "1 \\[$MODELS/alice/notes-[0-9a-f]{8}\\] [1-9]"
  check_match "the third component" "$said" "2 \\[\\] "
  check_nodes_unharmed
}

# The first one asks for nothing: what the second asked for is not its business.
test_heterogeneous_srun() {
  alice srun -N1 sh -c 'echo "0 [$STAGE_MODEL_DIR]"' : -N1 --stage-model="$STAGE_DEMO_MODEL" \
    sh -c 'echo "1 [$STAGE_MODEL_DIR]"' >"$work/job.out" 2>&1 || fail "srun: $(cat "$work/job.out")"
  check_match "the first component" "$(cat "$work/job.out")" '0 \[\]'
  check_match "the second component" "$(cat "$work/job.out")" \
    "1 \\[$MODELS/alice/demo-300m-[0-9a-f]{8}\\]"
}

# Whoever finds no directory reads why.
test_node_without_the_plugin() {
  cluster node 1 mount --bind /dev/null /etc/slurm/plugstack.conf
  alice sbatch --wait -N1 -w n1 -o "$work/job.out" --stage-model="$STAGE_DEMO_MODEL" \
    --wrap 'echo "[$STAGE_MODEL_DIR]"; ls "$STAGE_MODEL_DIR"' >/dev/null 2>&1
  cluster node 1 umount /etc/slurm/plugstack.conf
  check_match "the job's output" "$(cat "$work/job.out")" \
    '\[/nonexistent/the-stage-model-plugin-is-not-in-the-plugstack.conf-of-this-node\]'
  check_match "the job's output" "$(cat "$work/job.out")" 'ls: .*plugstack.conf.*No such file'
}

# As by slurmrestd: STAGE_MODEL is in the job's environment, and nobody read it at submit.
test_default_that_nobody_read() {
  local job
  mkdir "$work/etc"
  cp "$D/etc/slurm.conf" "$D/etc/cgroup.conf" "$D/etc/mpi.conf" "$work/etc"
  chmod -R a+rX "$work/etc"
  job=$(alice env SLURM_CONF="$work/etc/slurm.conf" STAGE_MODEL="$STAGE_DEMO_MODEL" \
    sbatch --parsable -N2 -o "$work/job.out" --wrap "touch $work/started") || fail "sbatch"
  eventually 30 job_ended "$job"
  check_equal "state of job $job" "$(job_field "$job" JobState)" FAILED
  check [ ! -e "$work/started" ]
  check_match "the job's output" "$(cat "$work/job.out")" 'STAGE_MODEL is in the job.s environment'
  check_equal "lines in the job's output" "$(grep -c . "$work/job.out")" 1
  check_nodes_unharmed
}

# Job ids come round: a record that an older job left speaks for nobody.
test_stale_record() {
  local next job k
  next=$(cluster exec scontrol show config | awk '$1 == "NEXT_JOB_ID" { print $3 }')
  for k in 1 2 3 4; do
    cluster node "$k" sh -c "umask 077; mkdir -p /run/stage-model/$next && printf '%s\n' 'format = 1' \
      'state = \"failed\"' 'code = 3' 'reason = \"of an older job\"' 'uid = $((20000 + k % 2 + 1))' 'gid = 20001' \
      >/run/stage-model/$next/record"
  done
  job=$(alice sbatch --parsable -N4 -o "$work/job.out" --wrap 'srun hostname') || fail "sbatch"
  check_equal "the job's id" "$job" "$next"
  check_completed "$job" "$work/job.out"
  check_equal "nodes that ran it" "$(grep -c '^n' "$work/job.out")" 4
  check_equal "records" "$(on_every_node sh -c 'ls /run/stage-model')" ""
}

run_tests "$@"
