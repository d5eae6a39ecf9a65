# The object store: Azurite on the controller, with a demo model in it. Sourced by ../cluster.

SUPPORT=$TREE/tests/support
ACCOUNT=stagedemo
STORE=http://$CONTROLLER:10000/$ACCOUNT
CONTAINER=models
DEMO=demo-300m

# In the controller's namespaces. The access log (one line a request) and the debug log (their
# headers) are what tests count requests and bytes in.
start_azurite() {
  local key
  key=$(cat "$D/azurite/key")
  mkdir -p "$D/azurite/data"
  AZURITE_ACCOUNTS="$ACCOUNT:$key" "$(cat "$D/azurite/program")" --blobHost "$CONTROLLER" \
    --blobPort 10000 --location "$D/azurite/data" --debug "$D/log/azurite.debug.log" \
    --disableTelemetry >"$D/log/azurite.access.log" 2>&1 </dev/null &
}

# The demo model's files and its upload happen once per cluster.
load_demo() {
  [ -f "$D/demo/uploaded" ] && return
  exec 9>"$D/demo/lock"
  flock 9
  [ -f "$D/demo/uploaded" ] && return
  python3 "$SUPPORT/demo_model.py" "$D/demo/model" >&2
  (cd "$D/demo/model" && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum) \
    >"$D/demo/sha256"
  chmod -R a+rX "$D/demo"
  inside_controller
  AZURE_STORAGE_BLOB_ENDPOINT=$STORE AZURE_STORAGE_ACCOUNT=$ACCOUNT \
    AZURE_STORAGE_KEY=$(cat "$D/azurite/key") \
    "${inside[@]}" python3 "$SUPPORT/azure_blob.py" put "$D/demo/model" "$CONTAINER/$DEMO/" >&2
  touch "$D/demo/uploaded"
}

cluster_source() {
  inside_controller
  load_demo
  cat <<END
AZURE_STORAGE_BLOB_ENDPOINT='$STORE'
AZURE_STORAGE_ACCOUNT='$ACCOUNT'
AZURE_STORAGE_KEY='$(cat "$D/azurite/key")'
STAGE_DEMO_MODEL='az://$ACCOUNT/$CONTAINER/$DEMO/'
STAGE_DEMO_FILES='$D/demo/model'
STAGE_DEMO_SHA256='$D/demo/sha256'
STAGE_CLUSTER_DIR='$D'
END
}
