#!/bin/sh
# What `make bench` calls: the runner, in the project's environment where there is one. Options go on to run.py.
here=$(cd "$(dirname "$0")" && pwd)
python="$here/../.venv/bin/python"
test -x "$python" || python=python3
exec "$python" "$here/run.py" "$@"
