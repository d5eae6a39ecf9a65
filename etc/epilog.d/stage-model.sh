#!/bin/bash
# Epilog= script: the twin of prolog.d/stage-model.sh, for sites with `prolog=off`. Removes the job's
# record; what was staged stays for the next job. Always ends with 0.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
state_dir=/run/stage-model     # paths.state_dir
[ -r /etc/stage-model/prolog.conf ] && . /etc/stage-model/prolog.conf
[ -n "${SPANK_STAGE_MODEL_REQUEST:-}" ] || exit 0
[[ ${SLURM_JOB_ID:-} =~ ^[0-9]+$ ]] && rm -rf -- "${state_dir:?}/$SLURM_JOB_ID"
exit 0
