# shellcheck shell=bash disable=SC2154
# Functions of test.sh for machines without a Docker engine: buildah, whose isolation `chroot`
# requires only root, and network namespaces in place of the machines of a cluster.

NETWORK=10.213.7 # addresses: .2 is the scheduler, followed by the workers and the jobs
namespaces=()    # network namespaces that exist

buildah() { command buildah --root "$work/storage" --runroot "$work/running" "$@"; }

check_requirements() {
    [[ $(id -u) == 0 ]] || fail "without a Docker engine this requires root"
    require buildah buildah
    require ip iproute2
    "$PYTHON" -c 'import yaml' || fail "PyYAML is missing; install it: apt install python3-yaml"
    python_base=$(sed -n 's/^ARG PYTHON_IMAGE=//p' docker/Dockerfile)
    rapids_base=$(sed -n 's/^ARG RAPIDS_IMAGE=//p' docker/Dockerfile)
    is_available "docker.io/library/$python_base" || build_python_substitute
}

# Whether a base image exists or can be pulled.
is_available() {
    buildah inspect --type image "$1" >/dev/null 2>&1 || timeout 60 buildah pull --quiet "$1" \
        >/dev/null 2>&1
}

build_python_substitute() {
    local root=$work/debian release=${python_base##*-} container
    require debootstrap debootstrap
    say "$python_base cannot be pulled; using Debian $release with its Python instead"
    rm -rf "$root"
    debootstrap --variant=minbase --include=ca-certificates,python3,python3-pip,python3-venv \
        "$release" "$root" >"$work/debootstrap.log" ||
        fail "debootstrap: $(tail -n 3 "$work/debootstrap.log")"
    # As in the Python image: `python` in the path, no compiled modules, no package index.
    ln -s /usr/bin/python3 "$root/usr/local/bin/python"
    find "$root/usr/lib/python3" "$root"/usr/lib/python3.* -name __pycache__ -prune \
        -exec rm -r {} +
    rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
    container=$(buildah from scratch)
    buildah add --quiet "$container" "$root" / >/dev/null
    buildah config --env PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin \
        --cmd python "$container"
    buildah commit --quiet --rm "$container" "docker.io/library/$python_base" >/dev/null
    rm -rf "$root"
}

# Python with the versions that cuDF requires, in the folder and with the user of the RAPIDS image.
build_rapids_substitute() {
    local container
    say "$rapids_base cannot be pulled; using an environment without RAPIDS instead"
    cat >"$work/rapids.Dockerfile" <<D
FROM $python_base
RUN groupadd conda && useradd --create-home --uid 1001 --gid conda rapids \\
    && python -m venv /opt/conda
RUN --mount=type=secret,id=pip --mount=type=secret,id=certificates \\
    PIP_CONFIG_FILE=/run/secrets/pip /opt/conda/bin/pip install --no-cache-dir --quiet \\
    'numba<0.65' 'pandas<3.1' 'pyarrow<24' 'dask[dataframe]<2026.8' distributed rich psutil
ENV PATH=/opt/conda/bin:\$PATH
USER rapids
WORKDIR /home/rapids
D
    command buildah --root "$work/storage" --runroot "$work/running" build --isolation chroot \
        --quiet "${secrets[@]}" --file "$work/rapids.Dockerfile" \
        --tag "docker.io/$rapids_base" "$work" >"$work/rapids.log" 2>&1 ||
        fail "substitute for RAPIDS: $(tail -n 5 "$work/rapids.log")"
}

build() {
    buildah build --isolation chroot --layers "${secrets[@]}" --file docker/Dockerfile \
        --target "$1" --tag "docker.io/library/$2" . >"$work/build-$1.log" 2>&1 ||
        fail "target $1 does not build: $(tail -n 20 "$work/build-$1.log")"
}

size() { buildah images --format '{{.Size}}' "docker.io/library/$1"; }

# Run a command of the image in a new container, as user $1 or, if it is empty, as the default user.
run() {
    local user=$1 container status=0
    shift
    container=$(buildah from "${FROM:-docker.io/library/$IMAGE}")
    buildah run --isolation chroot ${user:+--user "$user"} --volume "$results:/data" \
        "$container" -- "$@" || status=$?
    buildah rm "$container" >/dev/null
    return "$status"
}

# Create a namespace with the address $2 on the common network.
add_namespace() {
    ip netns add "$1"
    namespaces+=("$1")
    ip -n "$1" link set lo up
    ip link add "rg-port-$2" netns rg-switch type veth peer name eth0 netns "$1"
    ip -n rg-switch link set "rg-port-$2" master switch up
    ip -n "$1" address add "$NETWORK.$2/24" dev eth0
    ip -n "$1" link set eth0 up
}

# Run a service of compose.yaml in the namespace $1, as Compose would. Health checks run in a separate
# container, because buildah does not run two programs in one container at the same time.
run_service() {
    local namespace=$1 service=$2 setting=${3:-command} container=${4:-$1} name environment=() command
    eval "command=($("$PYTHON" docker/services.py "$service" "$setting"))"
    eval "set -- $("$PYTHON" docker/services.py "$service" environment)"
    for name in "$@"; do environment+=(--env "$name"); done
    ip netns exec "$namespace" buildah --root "$work/storage" --runroot "$work/running" \
        run --isolation chroot --volume "$results:/data" "${environment[@]}" \
        --user "$("$PYTHON" docker/services.py "$service" user)" "$container" -- "${command[@]}"
}

wait_until_healthy() {
    local try
    for try in $(seq 60); do
        run_service "$1" "$2" healthcheck rg-probe >/dev/null 2>&1 && return
        sleep 1
    done
    fail "$1 is not healthy after $try tries: $(tail -n 5 "$work/$1.log")"
}

run_cluster() {
    local number address=2 namespace replicas job
    ip netns add rg-switch
    namespaces+=(rg-switch)
    ip -n rg-switch link add switch type bridge
    ip -n rg-switch link set switch up
    replicas=$("$PYTHON" docker/services.py worker replicas)
    for namespace in rg-scheduler $(seq -f rg-worker-%g "$replicas") rg-job; do
        add_namespace "$namespace" "$address"
        buildah from --quiet --name "$namespace" --add-host "scheduler:$NETWORK.2" \
            "docker.io/library/$IMAGE" >/dev/null
        address=$((address + 1))
    done
    buildah from --quiet --name rg-probe "docker.io/library/$IMAGE" >/dev/null
    run_service rg-scheduler scheduler healthcheck rg-probe >/dev/null 2>&1 &&
        fail "the health check succeeds without a scheduler"
    run_service rg-scheduler scheduler >"$work/rg-scheduler.log" 2>&1 &
    wait_until_healthy rg-scheduler scheduler
    for number in $(seq "$replicas"); do
        run_service "rg-worker-$number" worker >"$work/rg-worker-$number.log" 2>&1 &
    done
    for number in $(seq "$replicas"); do wait_until_healthy "rg-worker-$number" worker; done
    passed "scheduler and $replicas workers are healthy, each in a container and network of its own"
    for job in rank communities reach; do
        run_service rg-job "$job" >"$work/$job.log" || fail "$job: $(tail -n 5 "$work"/rg-*.log)"
    done
}

test_gpu() {
    local start changed
    is_available "docker.io/$rapids_base" || build_rapids_substitute
    start=$(date +%s.%N)
    build gpu "$IMAGE:gpu"
    say "target gpu: built in $(elapsed "$start") s"
    FROM=docker.io/$rapids_base run '' python -m pip list --format=freeze | sort >"$work/base.txt"
    IMAGE=$IMAGE:gpu run '' python -m pip list --format=freeze | sort >"$work/gpu.txt"
    grep -q '^numba==' "$work/base.txt" || fail "the base image lists no packages"
    changed=$(comm -23 "$work/base.txt" "$work/gpu.txt")
    [[ -z $changed ]] || fail "the GPU image changes packages of its base: $changed"
    passed "target gpu keeps the packages of its base; it adds $(comm -13 "$work/base.txt" \
        "$work/gpu.txt" | tr '\n' ' ')"
    IMAGE=$IMAGE:gpu run "$ANYONE" rapidsgraph pagerank "$GRAPH" --device cpu --verify --top 2
}

cleanup() {
    local namespace signal
    for signal in INT KILL; do
        for namespace in "${namespaces[@]}"; do
            # shellcheck disable=SC2046
            kill -$signal $(ip netns pids "$namespace") 2>/dev/null
        done
        [[ $signal == KILL ]] || sleep 5
    done
    wait
    for namespace in "${namespaces[@]}"; do ip netns delete "$namespace"; done
    buildah rm --all >/dev/null 2>&1
}
