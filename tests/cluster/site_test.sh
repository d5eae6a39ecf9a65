#!/bin/bash
# A site whose own scripts stage (prolog=off, Prolog=, Epilog=): the same program text as the plugin's
# hooks, so the same place, the same credentials, the same end. And what such a site's other scripts,
# and a slurm.conf that does not fit, get to see.
. "$(dirname "$(readlink -f "$0")")/testlib.sh"

# The scripts as they are installed, behind a line that logs what every script of the site is given.
use_site_scripts() {
  local hook
  for hook in prolog epilog; do
    { echo '#!/bin/bash'
      echo "env >>'$D/log/$hook.env'"
      sed "1d; s#@STAGE_HOOK@#$D/bin/stage-hook#" "$CLUSTER_TESTS/../../etc/$hook.d/stage-model.sh.in"
    } >"$D/etc/site-$hook.sh"
    chmod 755 "$D/etc/site-$hook.sh"
  done
  sed -i 's/$/ prolog=off/' "$D/etc/plugstack.conf"
  change_slurm_conf "Prolog=$D/etc/site-prolog.sh" "Epilog=$D/etc/site-epilog.sh"
}

change_slurm_conf() { # LINE...
  [ -f "$work/slurm.conf" ] || cp "$D/etc/slurm.conf" "$work/slurm.conf"
  trap restore EXIT
  printf '%s\n' "$@" >>"$D/etc/slurm.conf"
  reconfigure
}

restore() {
  sed -i 's/ prolog=off$//' "$D/etc/plugstack.conf"
  cat "$work/slurm.conf" >"$D/etc/slurm.conf"
  reconfigure
}

reconfigure() {
  eventually 20 all_idle
  cluster exec scontrol reconfigure || fail "scontrol reconfigure"
  sleep 1
  eventually 20 all_idle
}

# Prints what two models, one of them filtered, are called on each node.
stage_two() {
  alice srun -N4 -n4 --stage-model="BASE=$STAGE_DEMO_MODEL" \
    --stage-model="NOTES=${STAGE_DEMO_MODEL}notes/" --stage-exclude='*.tmp' \
    sh -c 'echo "$STAGE_MODEL_DIR_BASE $STAGE_MODEL_DIR_NOTES"; '"$work/check_model"' >&2' \
    2>"$work/nodes.out" || fail "srun: $(cat "$work/nodes.out")"
}

test_same_place_and_credentials() {
  local by_plugin by_script
  by_plugin=$(stage_two | sort -u)
  check_equal "places on four nodes" "$(wc -l <<<"$by_plugin")" 1
  check_every_node_equal "$work/nodes.out"
  eventually 20 all_idle
  wipe_nodes
  use_site_scripts
  by_script=$(stage_two | sort -u)
  check_equal "the place by the site's script" "$by_script" "$by_plugin"
  check_every_node_equal "$work/nodes.out"
  eventually 20 all_idle
  check_equal "records" "$(on_every_node sh -c 'ls /run/stage-model 2>/dev/null; true')" ""
  # Credentials reached the engine (the store takes no others), and no other script of the site.
  check_match "what scripts are given" "$(cat "$D/log/prolog.env")" 'SPANK_STAGE_MODEL_CREDENTIALS=munge:'
  check_equal "lines with the key" \
    "$(cat "$D/log/prolog.env" "$D/log/epilog.env" | grep -cF "${AZURE_STORAGE_KEY:0:24}")" 0
}

test_failure_by_the_sites_script() {
  use_site_scripts
  local job
  job=$(alice sbatch --parsable -N4 -o "$work/job.out" --stage-model=az://stagedemo/models/typo/ \
    --wrap "touch $work/started") || fail "sbatch"
  eventually 60 job_ended "$job"
  check_equal "state of job $job" "$(job_field "$job" JobState)" FAILED
  check [ ! -e "$work/started" ]
  check_match "the job's output" "$(cat "$work/job.out")" 'typo'
  check_nodes_unharmed
}

# The program watches its job as the plugin does.
test_cancel_by_the_sites_script() {
  use_site_scripts
  slow_down
  local job k
  job=$(alice sbatch --parsable -N4 -o "$work/job.out" --stage-model="$STAGE_DEMO_MODEL" \
    --wrap "touch $work/started") || fail "sbatch"
  for k in 1 2 3 4; do eventually 20 pid_on "$k" stage-engine >/dev/null; done
  cluster exec scancel "$job"
  eventually 10 no_stagers 1 2 3 4
  eventually 20 job_is "$job" CANCELLED
  full_speed
  check [ ! -e "$work/started" ]
  check_nothing_final 1 2 3 4
  check_nodes_unharmed
}

test_keep_job_by_the_sites_script() {
  cluster config 'policy.keep = "job"'
  use_site_scripts
  alice srun -N4 --stage-model="$STAGE_DEMO_MODEL" "$work/check_model" >"$work/job.out" || fail "srun"
  check_every_node_equal "$work/job.out"
  eventually 20 all_idle
  check_nothing_final 1 2 3 4
}

# What a script of the site logs of a job that the plugin stages.
test_a_sites_log_holds_no_secret() {
  printf '#!/bin/bash\nenv >>%s\n' "'$D/log/logging.env'" >"$D/etc/site-prolog.sh"
  chmod 755 "$D/etc/site-prolog.sh"
  change_slurm_conf "Prolog=$D/etc/site-prolog.sh"
  alice srun -N4 --stage-model="$STAGE_DEMO_MODEL" "$work/check_model" >"$work/job.out" || fail "srun"
  check_every_node_equal "$work/job.out"
  check_match "the log" "$(cat "$D/log/logging.env")" 'SPANK_STAGE_MODEL_CREDENTIALS=munge:'
  check_equal "lines with the key" "$(grep -cF "${AZURE_STORAGE_KEY:0:24}" "$D/log/logging.env")" 0
  # What is sealed is for root alone.
  sed -n 's/^SPANK_STAGE_MODEL_CREDENTIALS=munge://p;T;q' "$D/log/logging.env" >"$work/sealed"
  chmod 644 "$work/sealed"
  check_no_match "unmunge as the user" "$(alice unmunge -i "$work/sealed" 2>&1)" 'AZURE_STORAGE_KEY'
  check_match "unmunge as root" "$(cluster exec unmunge -i "$work/sealed" 2>&1)" 'AZURE_STORAGE_KEY'
}

# A job that waits for its model would be requeued, so it is not taken.
test_short_batch_start_timeout_is_refused() {
  cp "$D/etc/slurm.conf" "$work/slurm.conf"
  sed -i '/^BatchStartTimeout/d' "$D/etc/slurm.conf"
  change_slurm_conf BatchStartTimeout=120
  local said
  said=$(alice sbatch -N1 -o "$work/job.out" --stage-model="$STAGE_DEMO_MODEL" --wrap true 2>&1) &&
    fail "sbatch took it"
  check_match "sbatch's words" "$said" 'BatchStartTimeout=1830 or more'
  check_equal "jobs in the queue" "$(cluster exec squeue -h)" ""
  said=$(cluster node 1 "$D/bin/stage-launch" --check --config "$D/etc/stage_model.toml")
  check_match "stage-launch --check" "$said" 'FAIL BatchStartTimeout: 120 s.*set BatchStartTimeout to 1830 or more'
  alice sbatch --wait -N1 -o "$work/job.out" --wrap true >/dev/null || fail "sbatch without the flag"
}

run_tests "$@"
