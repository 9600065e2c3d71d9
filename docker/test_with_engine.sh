# shellcheck shell=bash disable=SC2154
# Functions of test.sh for machines with a Docker engine.

check_requirements() { docker compose version >/dev/null || fail "docker compose is missing; install it"; }

build() {
    local name proxies=()
    for name in http_proxy https_proxy no_proxy; do
        [[ -z ${!name:-} ]] || proxies+=(--build-arg "$name")
    done
    DOCKER_BUILDKIT=1 docker build "${secrets[@]}" "${proxies[@]}" \
        --file docker/Dockerfile --target "$1" --tag "$2" .
}

size() { docker image inspect --format '{{.Size}}' "$1" | awk '{printf "%.0f MB", $1 / 1e6}'; }

# Run a command of the image, as user $1 or, if it is empty, as the default user.
run() {
    local user=$1 program=$2
    shift 2
    docker run --rm --interactive ${user:+--user "$user"} --volume "$results:/data" \
        --entrypoint "$program" "$IMAGE" "$@"
}

compose() { docker compose --project-name rapidsgraph-test --file docker/compose.yaml "$@"; }

run_cluster() {
    local job
    compose up --detach --wait
    passed "scheduler and workers are healthy"
    for job in rank communities reach; do compose run --rm "$job" >"$work/$job.log"; done
}

test_gpu() {
    [[ -n ${GPU:-} ]] || { say "target gpu: skipped; GPU=1 builds it"; return; }
    build gpu "$IMAGE:gpu"
    say "target gpu: $(size "$IMAGE:gpu")"
    docker compose --file docker/compose.yaml --file docker/compose.gpu.yaml config --quiet
    IMAGE=$IMAGE:gpu run "$ANYONE" rapidsgraph pagerank "$GRAPH" --device cpu --verify --top 2
}

cleanup() {
    compose down
    [[ -n ${WORK:-} ]] || docker image rm "$IMAGE"
}
