#!/usr/bin/env bash
# `make demo` and `make test` in a Debian that has make and nothing else. Each failed step has to say
# what to install; that is installed, and the step tried again.
#
#   installation/fresh.sh                        bookworm (Python 3.11), the committed files
#   installation/fresh.sh trixie -k pagerank     trixie (Python 3.13), some of the tests
#   FROM=tree installation/fresh.sh              files as they are now
#
# Needs root, debootstrap and a network. pip's settings (PIP_*) and certificates of this machine are
# handed in. Covers no GPU and no other processor. The root file system goes when it ends, unless
# KEEP=1.
set -euo pipefail

release=${1:-bookworm}
shift || true
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
certificates=/etc/ssl/certs/ca-certificates.crt
[ "$(id -u)" = 0 ] || { echo "Run it as root: it makes a root file system and enters it."; exit 1; }
command -v debootstrap >/dev/null || { echo "Install it: apt install debootstrap"; exit 1; }

work=$(mktemp -d)
root=$work/root
finish() {
  if [ -n "${KEEP:-}" ]; then echo "kept: $root"; else rm -rf --one-file-system "$work"; fi
}
trap finish EXIT

# What runs in the root file system sees its own processes alone, and leaves no mounts behind.
# QUIET=1 is without a network.
enter() {
  local flags=(--mount --pid --fork --kill-child)
  [ -n "${QUIET:-}" ] && flags+=(--net)
  # shellcheck disable=SC2016  # the inner shell has these
  unshare "${flags[@]}" bash -euc '
    root=$1; shift
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount -t sysfs -o ro sys "$root/sys" 2>/dev/null || mount --rbind /sys "$root/sys"
    mount --rbind /sys/fs/cgroup "$root/sys/fs/cgroup" 2>/dev/null || true
    exec chroot "$root" /usr/bin/env -i "$@"
  ' enter "$root" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    HOME=/root PIP_ROOT_USER_ACTION=ignore "${handed[@]}" "$@"
}

handed=()
for name in PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_DEFAULT_TIMEOUT http_proxy https_proxy no_proxy; do
  [ -z "${!name:-}" ] || handed+=("$name=${!name}")
done

failed() { echo "FAILED: $1"; exit 1; }

# A target of make that must fail, and say this.
refused() {
  local text=$1 out
  shift
  out=$(enter make -C /root/rapidsgraph "$@" 2>&1) && failed "make $* went well; '$text' is missing"
  grep -qF -- "$text" <<<"$out" || { echo "$out"; failed "make $* does not say '$text'"; }
  echo "ok: make $* says '$text'"
}

echo "== $release with make, and nothing else"
debootstrap --variant=minbase --include=make "$release" "$root" "${MIRROR:-http://deb.debian.org/debian}" \
  >"$work/log" 2>&1 || { tail "$work/log"; failed debootstrap; }
cp /etc/resolv.conf /etc/hosts "$root/etc/"
if [ -r "$certificates" ]; then
  cp "$certificates" "$root/root/certificates.crt"
  handed+=(PIP_CERT=/root/certificates.crt)
fi
mkdir "$root/root/rapidsgraph"
if [ "${FROM:-}" = tree ]; then
  (cd "$project" && git ls-files -z --cached --others --exclude-standard \
    | tar --create --null --ignore-failed-read --files-from=- 2>/dev/null)
else
  git -C "$project" archive HEAD
fi | tar --extract --directory "$root/root/rapidsgraph"

enter make -C /root/rapidsgraph
refused "apt install python3 python3-venv" demo
enter apt-get install --quiet --quiet --yes --no-install-recommends python3 >"$work/log" 2>&1
refused "apt install python3-venv" demo
enter apt-get install --quiet --quiet --yes --no-install-recommends python3-venv >"$work/log" 2>&1
QUIET=1 refused "Without a network connection" demo PIP_RETRIES=0

echo "== make demo"
time enter make -C /root/rapidsgraph demo
enter du -sh /root/rapidsgraph/.venv
echo "== make demo, again and without a network"
time QUIET=1 enter make -C /root/rapidsgraph demo >"$work/log"
echo "== make test"
time enter make -C /root/rapidsgraph test ARGS="$(printf '%q ' "$@")"
enter du -sh /root/rapidsgraph/.venv
