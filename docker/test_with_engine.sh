# shellcheck shell=bash disable=SC2154
# How test.sh builds and runs with a Docker engine.

prepare() { docker compose version >/dev/null || fail "docker compose is missing; install it"; }

build() {
    local name proxies=()
    for name in http_proxy https_proxy no_proxy; do
        [[ -z ${!name:-} ]] || proxies+=(--build-arg "$name")
    done
    DOCKER_BUILDKIT=1 docker build "${secrets[@]}" "${proxies[@]}" \
        --file docker/Dockerfile --target "$1" --tag "$2" .
}

size() { docker image inspect --format '{{.Size}}' "$1" | awk '{printf "%.0f MB", $1 / 1e6}'; }

# A command of the image as user $1, by default its own.
run() {
    local user=$1 program=$2
    shift 2
    docker run --rm --interactive ${user:+--user "$user"} --volume "$results:/data" \
        --entrypoint "$program" "$IMAGE" "$@"
}

compose() { docker compose --project-name rapidsgraph-test --file docker/compose.yaml "$@"; }

cluster() {
    local job
    compose up --detach --wait
    passed "scheduler and workers are healthy"
    for job in rank communities reach; do compose run --rm "$job" >"$work/$job.log"; done
}

gpu() {
    [[ -n ${GPU:-} ]] || { say "target gpu: not built; GPU=1 does"; return; }
    build gpu "$IMAGE:gpu"
    say "target gpu: $(size "$IMAGE:gpu")"
    docker compose --file docker/compose.yaml --file docker/compose.gpu.yaml config --quiet
    IMAGE=$IMAGE:gpu run "$ANYONE" rapidsgraph pagerank "$GRAPH" --device cpu --verify --top 2
}

clean() {
    compose down
    [[ -n ${WORK:-} ]] || docker image rm "$IMAGE"
}
