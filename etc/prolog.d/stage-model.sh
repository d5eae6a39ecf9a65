#!/bin/bash
# Prolog= script for sites that do not want the plugin's own prolog: put `prolog=off` behind the
# plugin in plugstack.conf, and this file where Prolog= finds it (root, 0755); its twin belongs to
# Epilog=. The plugin still checks the flags at submit and gates the steps.
#
# Always ends with 0: another status would drain the node for what is the user's mistake. The reason
# goes to the node's record, from where the plugin shows it to the user.
# Differs from the plugin's prolog: the paths below are not read from stage_model.toml.
set -u -f
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C

root=/var/lib/stage-model      # paths.roots, the first one
state_dir=/run/stage-model     # paths.state_dir
config=${STAGE_MODEL_CONFIG:-$(dirname "${SLURM_CONF:-/etc/slurm/slurm.conf}")/stage_model.toml}
launcher=stage-launch
deadline=1800                  # seconds; below PrologTimeout or PrologEpilogTimeout
credentials='AZURE_STORAGE_ACCOUNT AZURE_STORAGE_KEY AZURE_STORAGE_SAS_TOKEN
  AZURE_STORAGE_CONNECTION_STRING AZURE_STORAGE_BLOB_ENDPOINT'
# A site can keep its own values of the above in one place.
[ -r /etc/stage-model/prolog.conf ] && . /etc/stage-model/prolog.conf

[ -n "${SPANK_STAGE_MODEL_REQUEST:-}" ] || exit 0   # the job did not ask
trap 'exit 0' EXIT
umask 077
job=${SLURM_JOB_ID:?} uid=${SLURM_JOB_UID:?}
gid=${SLURM_JOB_GID:-$(id -g "$uid")} user=${SLURM_JOB_USER:-$(id -un "$uid")}
dir=$state_dir/$job

# Text for TOML. Control characters never get here: see `plain`.
toml() { local s=${1//\\/\\\\}; printf '"%s"' "${s//\"/\\\"}"; }

record() { # STATE CODE REASON
  { echo "format = 1"
    echo "state = \"$1\""; echo "code = $2"
    echo "node = $(toml "${SLURMD_NODENAME:-}")"; echo "reason = $(toml "$3")"
    echo "user = $(toml "$user")"; echo "uid = $uid"; echo "gid = $gid"
    echo "root = $(toml "$root")"
    printf '%s' "${models:-}"; } >"$dir/record.new" && mv "$dir/record.new" "$dir/record"
}

give_up() { # CODE REASON
  record failed "$1" "$2"
  echo "stage-model: job $job: $2" >&2
  exit 0
}

# %XX to bytes. The request comes from the user, who may have put anything there.
plain() {
  local pattern='^([][A-Za-z0-9._~/:@*?+!$(){}^-]|%[0-9A-F][0-9A-F])*$'
  [[ $1 =~ $pattern ]] || return 1
  [[ $1 =~ %(0|1|7F) ]] && return 1   # control characters
  printf -v REPLY '%b' "${1//%/\\x}"
}

mkdir -p "$state_dir" "$dir" || exit 0
record pending 8 ""   # a crash from here on fails closed

request=${SPANK_STAGE_MODEL_REQUEST}
damaged="the request that came with the job is damaged: submit it again"
[ ${#request} -le 65536 ] || give_up 2 "$damaged"
IFS=';' read -r -a items <<<"$request"
[ "${items[0]}" = 1 ] || give_up 2 "submit host and node have different versions of the plugin"
names=() urls=() filters=() dest=
for item in "${items[@]:1}"; do
  value=${item:2}
  case $item in
  m=*)
    [[ ${value%%,*} =~ ^([A-Z][A-Z0-9_]*)?$ && $value = *,* ]] || give_up 2 "$damaged"
    plain "${value#*,}" || give_up 2 "$damaged"
    [[ $REPLY =~ ^[a-z][a-z0-9]*:// ]] || give_up 2 "$damaged"
    names+=("${value%%,*}") urls+=("$REPLY") ;;
  d=*) plain "$value" && dest=$REPLY || give_up 2 "$damaged" ;;
  i=*) plain "$value" && filters+=("--include=$REPLY") || give_up 2 "$damaged" ;;
  x=*) plain "$value" && filters+=("--exclude=$REPLY") || give_up 2 "$damaged" ;;
  *) give_up 2 "$damaged" ;;
  esac
done
[ ${#urls[@]} -ge 1 ] && [ ${#urls[@]} -le 8 ] || give_up 2 "$damaged"
if [ -n "$dest" ]; then
  case $dest/ in
  "$root"//* | *//* | */../* | */./*) give_up 2 "--stage-dest: $dest is not a plain path" ;;
  "$root"/?*) ;;
  *) give_up 2 "--stage-dest: $dest is not below $root" ;;
  esac
fi

# The job's nodes in Slurm's order. Expanded from slurm.conf's rules alone: no RPC.
mapfile -t nodes < <(scontrol show hostnames "${SLURM_JOB_NODELIST:-${SLURM_NODELIST:-}}")
index=
for i in "${!nodes[@]}"; do [ "${nodes[i]}" = "$SLURMD_NODENAME" ] && index=$i; done
[ -n "$index" ] || give_up 8 "node $SLURMD_NODENAME is not in the job's node list"

models= runs=
for i in "${!urls[@]}"; do
  url=${urls[i]}
  last=${url%%[?#]*}; last=${last%"${last##*[!/]}"}; last=${last##*/}; last=${last//[!A-Za-z0-9._-]/_}
  [[ $last = [.-]* ]] && last=_${last:1}
  place=$root/$user/${last:-model}-$(printf '%08x' "$(printf '%s\n' "$url" "${filters[@]}" | cksum | cut -d' ' -f1)")
  [ -n "$dest" ] && place=$dest
  [ -n "$dest" ] && [ ${#urls[@]} -gt 1 ] && place=$dest/${names[i]:-${last:-model}}
  models+=$(printf '\n[[models]]\nname = "%s"\ndirectory = %s' "${names[i]}" "$(toml "$place")")$'\n'
  arguments="$(toml "$url"), $(toml "$place"), \"--no-progress\""
  for filter in "${filters[@]}"; do arguments+=", $(toml "$filter")"; done
  runs+=$(printf '\n[[runs]]\nname = "%s"\ndirectory = %s\narguments = [%s]' "${names[i]}" \
    "$(toml "$place")" "$arguments")$'\n'
done
record pending 8 ""   # now it names the directories

secrets=
for name in $credentials; do
  variable=SPANK_STAGE_MODEL_CRED_$name
  value=${!variable:-}
  [ -n "$value" ] || continue
  [[ $value =~ [[:cntrl:]] ]] && give_up 2 "the variable $name holds unprintable characters"
  secrets+=${secrets:+, }$(toml "$name=$value")
done
{ echo "format = 1"
  echo "job = \"$job\""; echo "index = $index"; echo "uid = $uid"; echo "gid = $gid"
  echo "user = $(toml "$user")"; echo "user_root = $(toml "$root/$user")"; echo "root = $(toml "$root")"
  echo "record_dir = $(toml "$dir")"; echo "deadline_ms = $((deadline * 1000))"
  echo "credentials = [$secrets]"
  for node in "${nodes[@]}"; do printf '\n[[nodes]]\nname = %s\n' "$(toml "$node")"; done
  printf '%s' "$runs"; } >"$dir/request"

umask 022   # the engine inherits it
"$launcher" --config "$config" --request "$dir/request" </dev/null >"$dir/launcher.log" 2>&1 &
child=$!
watcher=
trap 'kill -TERM $child 2>/dev/null' TERM INT HUP
if [ "$index" = 0 ]; then   # one node asks whether the job was cancelled
  (
    while sleep 1; do
      state=$(timeout 10 squeue -h -j "$job" -o '%i %T' 2>/dev/null | sed -n "s/^$job //p")
      case $state in "" | PENDING | CONFIGURING | RUNNING | SUSPENDED) ;; *) kill -TERM $child; exit ;; esac
    done
  ) </dev/null >/dev/null 2>&1 &
  watcher=$!
fi
( sleep $((deadline + 10)); kill -KILL $child ) </dev/null >/dev/null 2>&1 &
alarm=$!
wait $child; status=$?
while kill -0 $child 2>/dev/null; do wait $child; status=$?; done   # a signal ends `wait` early
for helper in $alarm $watcher; do
  pkill -KILL -P "$helper" 2>/dev/null
  kill -KILL "$helper" 2>/dev/null
done
rm -f "$dir/request"
if grep -q '^state = "pending"' "$dir/record"; then
  give_up 8 "the launcher ended without an outcome (status $status)"
fi
exit 0
