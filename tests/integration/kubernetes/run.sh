#!/bin/bash
# run.sh TEST.py ARGUMENTS...: with the Python that python.sh finds.
set -euo pipefail
directory=$(dirname "$(readlink -f "$0")")
test=$1
shift
python=$("$directory/python.sh")
exec "$python" -B "$directory/$test" "$@"
