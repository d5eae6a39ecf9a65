#!/bin/bash
# The engine without the plugin: alone, under mpirun and under srun's PMIx, as an ordinary user.
. "$(dirname "$(readlink -f "$0")")/testlib.sh"

# alice's own directory on every node's disk.
make_destination() {
  destination=$D/nvme/alice
  on_every_node install -d -o 20001 -g 20001 "$destination"
}

remove_destination() {
  on_every_node rm -rf "$destination"
}

check_summary() { # FILE
  local stage
  for stage in list plan download bcast write verify total; do
    check_match "the summary" "$(cat "$1")" "\\[$stage\\]"
  done
}

test_alone() {
  make_destination
  check cluster node 2 true
  alice srun -N1 -w n2 env -i PATH="$PATH" HOME="$work" \
    AZURE_STORAGE_BLOB_ENDPOINT="$AZURE_STORAGE_BLOB_ENDPOINT" AZURE_STORAGE_KEY="$AZURE_STORAGE_KEY" \
    AZURE_STORAGE_ACCOUNT="$AZURE_STORAGE_ACCOUNT" \
    "$D/bin/stage-engine" "$STAGE_DEMO_MODEL" "$destination/alone" >"$work/engine.out" 2>&1 ||
    fail "stage-engine: $(cat "$work/engine.out")"
  check_summary "$work/engine.out"
  check_equal "the model" "$(cluster node 2 "$work/check_model" "$destination/alone")" "n2 equal"
  remove_destination
}

test_mpirun() {
  make_destination
  store_mark
  # In an allocation mpirun starts its daemons by srun, one on each node.
  alice salloc -N4 mpirun -n 4 --map-by ppr:1:node stage-engine "$STAGE_DEMO_MODEL" \
    "$destination/mpirun" >"$work/engine.out" 2>&1 || fail "mpirun: $(cat "$work/engine.out")"
  check_summary "$work/engine.out"
  check_all_hold mpirun
  remove_destination
}

test_srun_pmix() {
  make_destination
  store_mark
  alice srun --mpi=pmix -N4 -n4 stage-engine "$STAGE_DEMO_MODEL" "$destination/pmix" \
    >"$work/engine.out" 2>&1 || fail "srun: $(cat "$work/engine.out")"
  check_summary "$work/engine.out"
  check_all_hold pmix
  remove_destination
}

check_all_hold() { # NAME
  check_equal "what the nodes hold" "$(on_every_node "$work/check_model" "$destination/$1")" "$EVERY_NODE_EQUAL"
  check [ $(($(store_bytes) * 100)) -le $(($(demo_bytes) * 101)) ]
}

# Two ranks on one node would write over each other.
test_two_ranks_on_a_node() {
  make_destination
  local output status
  output=$(alice srun --mpi=pmix -N1 -n2 -w n2 stage-engine "$STAGE_DEMO_MODEL" "$destination/two" 2>&1)
  status=$?
  check_equal "exit code" "$status" 2
  check_match "the message" "$output" 'n2'
  remove_destination
}

run_tests "$@"
