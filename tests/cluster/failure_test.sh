#!/bin/bash
# A staging that cannot work: the job is FAILED with one clear line in its output, no user code runs,
# the nodes are idle and unharmed, and it stays so when it happens again.
. "$(dirname "$(readlink -f "$0")")/testlib.sh"

TIMES=${STAGE_FAILURE_TIMES:-5}

# The arguments after -- are for sbatch, before it: environment.
check_fails() { # EXIT-CODE REGEX [NAME=VALUE...] -- SBATCH-ARGUMENT...
  local code=$1 regex=$2 settings=() time job text
  shift 2
  while [ "$1" != -- ]; do
    settings+=("$1")
    shift
  done
  shift
  for ((time = 1; time <= TIMES; time++)); do
    rm -f "$work/job.out" "$work/started"
    job=$(alice env "${settings[@]}" sbatch --parsable -N4 -o "$work/job.out" "$@" \
      --wrap "touch $work/started") || fail "sbatch"
    eventually 60 job_ended "$job"
    check_equal "state of job $job" "$(job_field "$job" JobState)" FAILED
    check_equal "exit code of job $job" "$(job_field "$job" ExitCode)" "$code:0"
    check [ ! -e "$work/started" ]
    text=$(grep . "$work/job.out")
    check_equal "lines in the job's output ($text)" "$(wc -l <<<"$text")" 1
    check_match "the job's output" "$text" "$regex"
    check_equal "restarts" "$(job_field "$job" Restarts)" 0
  done
  echo "    $text"
  check_nodes_unharmed
  check_nothing_final 1 2 3 4
  check no_stagers 1 2 3 4
}

test_wrong_account() {
  check_fails 3 'nosuch' AZURE_STORAGE_BLOB_ENDPOINT="${AZURE_STORAGE_BLOB_ENDPOINT%/*}/nosuch" \
    AZURE_STORAGE_ACCOUNT=nosuch -- --stage-model=az://nosuch/models/demo-300m/
}

test_wrong_key() {
  check_fails 3 '403|not allowed|denied|refused' AZURE_STORAGE_KEY="$(head -c 64 /dev/zero | base64 -w0)" \
    -- --stage-model="$STAGE_DEMO_MODEL"
}

test_missing_container() {
  check_fails 3 'nothere' -- --stage-model=az://stagedemo/nothere/demo/
}

# Dead already: refused where it is typed. It may also die in the queue.
test_expired_sas() {
  local sas said
  sas=$(cluster exec python3 "$CLUSTER_TESTS/../support/azure_blob.py" sas models -3600)
  said=$(alice env AZURE_STORAGE_KEY= AZURE_STORAGE_SAS_TOKEN="$sas" sbatch -N4 \
    --stage-model="$STAGE_DEMO_MODEL" --wrap true 2>&1) && fail "sbatch took it"
  check_match "sbatch's words" "$said" 'AZURE_STORAGE_SAS_TOKEN expired at 20'
  check_no_match "sbatch's words" "$said" 'sig=[A-Za-z0-9]'
  check_equal "jobs in the queue" "$(cluster exec squeue -h)" ""
}

test_sas_that_expires_in_the_queue() {
  local TIMES=1 sas
  sas=$(cluster exec python3 "$CLUSTER_TESTS/../support/azure_blob.py" sas models 4)
  check_fails 3 'expired at' AZURE_STORAGE_KEY= AZURE_STORAGE_SAS_TOKEN="$sas" \
    -- --begin=now+6 --stage-model="$STAGE_DEMO_MODEL"
  check_no_match "the job's output" "$(cat "$work/job.out")" 'sig=[A-Za-z0-9]'
}

test_empty_prefix() {
  check_fails 3 'typo' -- --stage-model=az://stagedemo/models/typo/
}

test_disk_too_small() {
  # Node 3 keeps some 100 MB: too little for the model, enough for everything else.
  cluster node 3 sh -c 'fallocate -l $(($(df --output=avail -B1 '"$D/nvme"' | tail -n 1) - 100000000)) '"$D/nvme/filler"
  check_fails 4 'n3' -- --stage-model="$STAGE_DEMO_MODEL"
  cluster node 3 rm -f "$D/nvme/filler"
  alice srun -N4 --stage-model="$STAGE_DEMO_MODEL" "$work/check_model" >"$work/after.out" ||
    fail "the job after it"
  check_every_node_equal "$work/after.out"
}

# A permanent mistake must not turn into a loop.
test_requeue_is_not_tried() {
  check_fails 3 'typo' -- --requeue --stage-model=az://stagedemo/models/typo/
}

# srun and salloc say it too.
test_srun_fails() {
  local output status
  output=$(alice srun -N4 --stage-model=az://stagedemo/models/typo/ touch "$work/started" 2>&1)
  status=$?
  check [ $status -ne 0 ]
  check_match "srun's output" "$output" 'typo'
  check [ ! -e "$work/started" ]
  output=$(alice salloc -N4 --stage-model=az://stagedemo/models/typo/ srun touch "$work/started" 2>&1)
  status=$?
  check [ $status -ne 0 ]
  check_match "salloc's output" "$output" 'typo'
  check [ ! -e "$work/started" ]
  check_nodes_unharmed
}

# A site's mistake: the user is told, and no node is drained.
test_broken_configuration() {
  cluster config 'engine.environment = 17'
  local output status
  output=$(alice srun -N4 --stage-model="$STAGE_DEMO_MODEL" touch "$work/started" 2>&1)
  status=$?
  cluster config
  check [ $status -ne 0 ]
  check_match "srun's output" "$output" 'stage_model.toml'
  check [ ! -e "$work/started" ]
  check_nodes_unharmed
}

run_tests "$@"
