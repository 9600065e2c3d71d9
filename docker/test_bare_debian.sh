#!/usr/bin/env bash
# Run `make demo` and `make test` in a Debian that has make and nothing else. Each step that fails
# must name the package to install; the script installs it and repeats the step.
#
#   docker/test_bare_debian.sh                        bookworm (Python 3.11), the committed files
#   docker/test_bare_debian.sh trixie -k pagerank     trixie (Python 3.13), some of the tests
#   FROM=tree docker/test_bare_debian.sh              the files of the working tree
#
# Requires root, debootstrap and a network connection. The settings of pip (PIP_*) and the
# certificates of the host are passed on. Neither GPUs nor other processors are tested. The root file
# system is removed at the end, unless KEEP=1.
set -euo pipefail

release=${1:-bookworm}
shift || true
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
certificates=/etc/ssl/certs/ca-certificates.crt
[ "$(id -u)" = 0 ] || { echo "Run this as root: it creates a root file system and enters it."; exit 1; }
command -v debootstrap >/dev/null || { echo "debootstrap is missing: apt install debootstrap"; exit 1; }

work=$(mktemp -d)
root=$work/root
cleanup() {
  if [ -n "${KEEP:-}" ]; then echo "root file system: $root"; else rm -rf --one-file-system "$work"; fi
}
trap cleanup EXIT

# Run a command in the root file system, in mount and process namespaces of its own, so that it leaves
# no mounts behind. OFFLINE=1 adds a network namespace without a network.
enter() {
  local flags=(--mount --pid --fork --kill-child)
  [ -n "${OFFLINE:-}" ] && flags+=(--net)
  # shellcheck disable=SC2016  # expanded by the inner shell
  unshare "${flags[@]}" bash -euc '
    root=$1; shift
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount -t sysfs -o ro sys "$root/sys" 2>/dev/null || mount --rbind /sys "$root/sys"
    mount --rbind /sys/fs/cgroup "$root/sys/fs/cgroup" 2>/dev/null || true
    exec chroot "$root" /usr/bin/env -i "$@"
  ' enter "$root" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    HOME=/root PIP_ROOT_USER_ACTION=ignore "${environment[@]}" "$@"
}

environment=()
for name in PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_DEFAULT_TIMEOUT http_proxy https_proxy no_proxy; do
  [ -z "${!name:-}" ] || environment+=("$name=${!name}")
done

fail() { echo "FAILED: $1"; exit 1; }

# Check that a make target fails with a text in its output.
expect_failure() {
  local text=$1 output
  shift
  output=$(enter make -C /root/rapidsgraph "$@" 2>&1) && fail "make $* succeeded without '$text'"
  grep -qF -- "$text" <<<"$output" || { echo "$output"; fail "make $* does not print '$text'"; }
  echo "ok: make $* prints '$text'"
}

echo "== $release with make and nothing else"
debootstrap --variant=minbase --include=make "$release" "$root" "${MIRROR:-http://deb.debian.org/debian}" \
  >"$work/log" 2>&1 || { tail "$work/log"; fail debootstrap; }
cp /etc/resolv.conf /etc/hosts "$root/etc/"
if [ -r "$certificates" ]; then
  cp "$certificates" "$root/root/certificates.crt"
  environment+=(PIP_CERT=/root/certificates.crt)
fi
mkdir "$root/root/rapidsgraph"
if [ "${FROM:-}" = tree ]; then
  (cd "$project" && git ls-files -z --cached --others --exclude-standard \
    | tar --create --null --ignore-failed-read --files-from=- 2>/dev/null)
else
  git -C "$project" archive HEAD
fi | tar --extract --directory "$root/root/rapidsgraph"

enter make -C /root/rapidsgraph
expect_failure "apt install python3 python3-venv" demo
enter apt-get install --quiet --quiet --yes --no-install-recommends python3 >"$work/log" 2>&1
expect_failure "apt install python3-venv" demo
enter apt-get install --quiet --quiet --yes --no-install-recommends python3-venv >"$work/log" 2>&1
OFFLINE=1 expect_failure "Without a network connection" demo PIP_RETRIES=0

echo "== make demo"
time enter make -C /root/rapidsgraph demo
enter du -sh /root/rapidsgraph/.venv
echo "== make demo again, without a network"
time OFFLINE=1 enter make -C /root/rapidsgraph demo >"$work/log"
echo "== make test"
time enter make -C /root/rapidsgraph test ARGS="$(printf '%q ' "$@")"
enter du -sh /root/rapidsgraph/.venv
