#!/usr/bin/env bash
# Build the wheel and the sdist into dist/, check their metadata, install each into a new environment,
# and run it outside the source tree.
#
#   docker/test_release.sh [python]    a Python with `build` and `twine`; `make package` passes that of .venv
set -euo pipefail

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=${1:-python3}
[[ $python != */* ]] || python=$(cd "$(dirname "$python")" && pwd)/$(basename "$python")
"$python" -c 'import build, twine' 2>/dev/null \
|| { echo "$python has no 'build' or no 'twine': $python -m pip install build twine"; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf "$project/dist"
"$python" -m build --outdir "$project/dist" "$project" >"$work/log" 2>&1 \
|| { tail -n 30 "$work/log"; echo "the build failed"; exit 1; }
"$python" -m twine check --strict "$project"/dist/*

cd "$work"  # outside the source tree
for file in "$project"/dist/*; do
  echo "== $(basename "$file"), $(stat --format %s "$file") bytes"
  rm -rf "$work/environment"
  "$python" -m venv "$work/environment"
  "$work/environment/bin/python" -m pip install --quiet --disable-pip-version-check "$file"
  location=$("$work/environment/bin/python" -c 'import rapidsgraph; print(rapidsgraph.__file__)')
  [[ $location = "$work/environment/"* ]] || { echo "FAILED: imported from $location"; exit 1; }
  "$work/environment/bin/rapidsgraph" doctor >"$work/doctor"
  grep '^runs on CPU   yes$' "$work/doctor" || { cat "$work/doctor"; echo "FAILED: doctor"; exit 1; }
  "$work/environment/bin/rapidsgraph" demo --device cpu >"$work/demo"
  grep -E '^1\s+libc6\s' "$work/demo" || { cat "$work/demo"; echo "FAILED: demo"; exit 1; }
done
