#!/usr/bin/env bash
# transfer_soak.sh PROGRAM RANKS CASE: one hard case of the transfer, under every broadcast algorithm
# that the installed Open MPI has for non-blocking collectives.
set -u
program=$1 ranks=$2 case=$3
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# The algorithms' numbers, from the library itself: "… 0: tuned, 1: binomial …" or "… 0 ignore, 1 linear …".
algorithms() { # component parameter
  ompi_info --param coll "$1" --level 9 --parsable 2>/dev/null |
    sed -n "s/^mca:coll:$1:param:$2:help:.*\(broadcast\|used\)[,:]//p" | grep -o '[0-9]\+'
}

run() { # label, environment…, then -- settings…
  local label=$1; shift
  local env=()
  while [ "$1" != -- ]; do env+=("$1"); shift; done
  shift
  out=$(env "${env[@]}" timeout 100 mpirun --oversubscribe -n "$ranks" "$program" "$@" 2>&1) ||
    { echo "FAILED ($?): $label: $*"; echo "$out" | tail -20; failed=1; return; }
  echo "$label: $(echo "$out" | grep '^rank 0')"
}

# Somebody's disk or source does not come back: all are ended, with this code, and nobody waits.
run_ends() { # code, label, settings…
  local wanted=$1 label=$2 code=0; shift 2
  out=$(timeout 100 mpirun --oversubscribe -n "$ranks" "$program" "$@" 2>&1) || code=$?
  [ "$code" = "$wanted" ] ||
    { echo "FAILED ($code, not $wanted): $label: $*"; echo "$out" | tail -20; failed=1; return; }
  echo "$label: ended with $code"
}

failed=0
one="receive=1 download=1 lanes=1"
case $case in
algorithms)
  ran=0
  for a in $(algorithms adapt coll_adapt_bcast_algorithm); do
    # "tuned" is for MPI_Bcast alone: Open MPI 4 answers MPI_Ibcast with MPI_ERR_INTERN.
    [ "$a" = 0 ] && continue
    run "adapt $a" OMPI_MCA_coll_adapt_bcast_algorithm="$a" -- $one; ran=$((ran + 1))
  done
  for a in $(algorithms libnbc coll_libnbc_ibcast_algorithm); do
    run "libnbc $a" OMPI_MCA_coll_adapt_priority=0 OMPI_MCA_coll_libnbc_ibcast_algorithm="$a" -- $one; ran=$((ran + 1))
  done
  run "library's default" OMPI_MCA_coll=^adapt -- $one
  [ "$ran" -ge 4 ] || { echo "ompi_info named only $ran algorithms"; failed=1; } ;;
slow)
  run "slow disks" X=1 -- $one disk=5e6
  run "one slow disk" X=1 -- receive=2 download=2 lanes=2 slow_disk=20
  run "slow owner, taken over" X=1 -- receive=4 download=2 lanes=4 slow_owner=50 source=20e6
  run "slow owner, not taken over" X=1 -- receive=4 download=2 lanes=4 slow_owner=10 take_over=0
  run "one downloads" X=1 -- $one downloaders=1
  run "staged schedule" X=1 -- receive=4 download=2 lanes=4 staged=1
  run "staged schedule, one buffer each" X=1 -- $one staged=1 held=2
  run "staged schedule, one announced" X=1 -- receive=8 download=8 per_root=1 jitter=20 staged=1
  run "a chunk takes longer than the stall limit" X=1 -- $one objects=4 source=30e3 trickle=1 stall=1
  run "all wait for the one that downloads" X=1 -- $one objects=4 source=60e3 trickle=1 stall=1 downloaders=1
  run "two download" X=1 -- receive=3 download=3 lanes=3 downloaders=2 pipeline=2 ;;
held)
  run "some hold every 2nd" X=1 -- $one held=2
  run "some hold all" X=1 -- receive=4 download=4 lanes=4 held=1
  run "one lacks everything" X=1 -- $one lacks=$((ranks - 1))
  run "rank 0 lacks everything" X=1 -- receive=2 download=2 lanes=2 lacks=0
  run "one holds everything" X=1 -- receive=2 download=2 lanes=2 has=1
  run "rank 0 holds everything" X=1 -- $one has=0 ;;
failures)
  last=$((ranks - 1))
  run "source breaks on the last rank" X=1 -- $one fail_rank=$last source_fails_after=100000 expect=5
  run "source breaks on rank 0" X=1 -- receive=4 download=4 lanes=4 fail_rank=0 source_fails_after=200000 expect=5
  run "disk full on rank 1" X=1 -- $one fail_rank=1 disk_fails_after=500000 expect=4
  run "disk full at the very end" X=1 -- receive=8 download=4 fail_rank=1 disk_fails_after=3000000 expect=4
  run "disk full on rank 0" X=1 -- receive=2 download=2 lanes=2 fail_rank=0 disk_fails_after=900000 expect=4
  run "cancelled on rank 1" X=1 -- receive=2 download=2 lanes=2 cancel_rank=1 expect=8
  run "source breaks, staged schedule" X=1 -- $one staged=1 fail_rank=1 source_fails_after=200000 expect=5
  run "disk full, staged schedule" X=1 -- $one staged=1 fail_rank=1 disk_fails_after=2000000 expect=4
  run "disk full among holders" X=1 -- $one held=1 fail_rank=1 disk_fails_after=100000 expect=4
  run "cancelled on rank 0" X=1 -- $one cancel_rank=0 expect=8
  run_ends 8 "a disk hangs" $one disk_hangs=1 stall=2
  run_ends 8 "a source hangs" $one source_hangs=$last stall=2
  # The last rank's source is slow, so that the disk hangs by the time it breaks.
  run_ends 5 "a disk hangs and another rank's source breaks" $one source=20e6 disk_hangs=1 slow_owner=300 fail_rank=$last source_fails_after=1 stall=4
  run_ends 8 "cancelled while a source hangs" $one source_hangs=$last cancel_all_after=1 stall=60 ;;
*) echo "unknown case $case"; exit 2 ;;
esac
exit $failed
