#!/bin/bash
# What can be asked for: several models, a destination, defaults from the environment; and what is
# refused at submit, with nothing submitted.
. "$(dirname "$(readlink -f "$0")")/testlib.sh"

test_several_models() {
  alice srun -N4 -n4 --stage-model="BASE=$STAGE_DEMO_MODEL" \
    --stage-model="LORA=${STAGE_DEMO_MODEL}adapters/" \
    sh -c 'echo "$(hostname) base $STAGE_MODEL_DIR_BASE"
           echo "$(hostname) lora $(ls "$STAGE_MODEL_DIR_LORA" | wc -l)"
           [ "$STAGE_MODEL_DIR" = "$STAGE_MODEL_DIR_BASE" ] && '"$work/check_model" \
    >"$work/job.out" || fail "srun: $(cat "$work/job.out")"
  check_every_node_equal "$work/job.out"
  check_equal "nodes with 22 adapters" "$(grep -c 'lora 22$' "$work/job.out")" 4
}

test_stage_dest() {
  local dest=$MODELS/alice/my-model
  alice srun -N4 --stage-model="$STAGE_DEMO_MODEL" --stage-dest="$dest" \
    sh -c 'echo "$(hostname) $STAGE_MODEL_DIR"; '"$work/check_model" >"$work/job.out" || fail "srun"
  check_every_node_equal "$work/job.out"
  check_equal "nodes that use it" "$(grep -cE "^n[1-4] $dest\$" "$work/job.out")" 4
}

# The environment counts at submit, and never for an srun inside an allocation.
test_environment_default() {
  STAGE_MODEL=$STAGE_DEMO_MODEL alice srun -N4 "$work/check_model" >"$work/job.out" || fail "srun"
  check_every_node_equal "$work/job.out"
  wipe_nodes
  alice salloc -N4 env STAGE_MODEL="$STAGE_DEMO_MODEL" srun sh -c 'echo "[$STAGE_MODEL_DIR]"' \
    >"$work/inner.out" || fail "salloc"
  check_equal "steps without a model" "$(grep -c '^\[\]$' "$work/inner.out")" 4
  check_nothing_final 1 2 3 4
}

refused() { # REGEX ARGUMENT...
  local regex=$1 before output status
  shift
  before=$(cluster exec squeue -h -t all | wc -l)
  output=$(alice sbatch -N1 -o "$work/job.out" "$@" --wrap true 2>&1)
  status=$?
  [ $status -ne 0 ] || fail "sbatch accepts $*"
  check_match "sbatch $*" "$output" "$regex"
  output=$(alice srun -N1 "$@" true 2>&1)
  status=$?
  [ $status -ne 0 ] || fail "srun accepts $*"
  check_match "srun $*" "$output" "$regex"
  check_equal "number of jobs" "$(cluster exec squeue -h -t all | wc -l)" "$before"
}

test_refused_at_submit() {
  refused 'stage-model' --stage-model=
  refused 'scheme|gopher' --stage-model=gopher://host/model
  refused 'stage-model' --stage-model=az://
  refused '/etc/model' --stage-model="$STAGE_DEMO_MODEL" --stage-dest=/etc/model
  refused 'stage-dest|root' --stage-model="$STAGE_DEMO_MODEL" --stage-dest="$MODELS/../outside"
  refused 'base=|NAME|name' --stage-model="base=$STAGE_DEMO_MODEL"
  refused 'BASE' --stage-model="BASE=$STAGE_DEMO_MODEL" --stage-model="BASE=${STAGE_DEMO_MODEL}notes/"
}

# Slurm keeps a flag's text in places that cannot be cleaned, so it is refused, and not repeated on the
# terminal (or into a CI system's log) either.
test_signature_in_url() {
  local url="https://stagedemo.blob.core.windows.net/models/x/?sv=2021-08-06&sig=S3cretS1gnature%3D" said
  refused 'AZURE_STORAGE_SAS_TOKEN|environment' --stage-model="$url"
  said=$(alice sbatch -N1 --stage-model="$url" --wrap true 2>&1)
  check [ -n "$said" ]
  check_no_match "what sbatch said" "$said" 'S3cretS1gnature'
}

run_tests "$@"
