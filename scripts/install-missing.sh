#!/usr/bin/env bash
# install-missing.sh [--optional] PACKAGE…: makes sure that these Debian or Ubuntu packages are installed. As root it
# installs what is missing; otherwise it prints the one line to type, and fails. Silent when nothing is missing.
# With --optional, what this system does not have, and all of it without root, is named and left out.
set -euo pipefail

optional=
if [ "${1:-}" = --optional ]; then
    optional=1
    shift
fi

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "install-missing: this is not Debian or Ubuntu; install by hand what these packages are called here: $*" >&2
    exit 0
fi

missing=()
for package in "$@"; do
    state=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" -ne 0 ] && [ -n "$optional" ]; then
    echo "install-missing: left out, since this is not root: ${missing[*]}" >&2
    exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "install-missing: packages are missing; type this, then start again:" >&2
    echo "    sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}" >&2
    exit 1
fi

echo "Installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Redis, nginx and memcached would start as services; the tests start their own.
services=/usr/sbin/policy-rc.d
if [ ! -e "$services" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$services"
    chmod 755 "$services"
    trap 'rm -f "$log" "$services"' EXIT
fi
apt-get update -q >"$log" 2>&1 || { tail -n 5 "$log" >&2; }
if [ -n "$optional" ]; then
    found=() lacking=()
    for package in "${missing[@]}"; do
        if apt-get install --simulate -q "$package" >/dev/null 2>&1; then found+=("$package"); else lacking+=("$package"); fi
    done
    [ ${#lacking[@]} -eq 0 ] || echo "install-missing: left out, since this system does not have them: ${lacking[*]}" >&2
    [ ${#found[@]} -gt 0 ] || exit 0
    missing=("${found[@]}")
fi
if ! apt-get install -y -q --no-install-recommends "${missing[@]}" >>"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "install-missing: apt-get failed, see above; remedy: install by hand: ${missing[*]}" >&2
    exit 1
fi
