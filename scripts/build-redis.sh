#!/usr/bin/env bash
# Builds a redis-server that uses libc's malloc, from the source package of this Debian or Ubuntu: the packaged server is
# linked to jemalloc, so it cannot show what another allocator does. Nothing of the system is changed: the source list
# and apt's lists are in a temporary folder.
set -euo pipefail

fail() {
    echo "build-redis.sh: $1" >&2
    exit 125
}
folder=$(cd "$(dirname "$0")/.." && pwd)/target/redis
case "${1:-}" in
"") ;;
-h | --help)
    echo "usage: scripts/build-redis.sh [FOLDER]"
    echo "Builds redis-server and redis-cli with MALLOC=libc, and puts them in FOLDER (target/redis of this project)."
    exit 0
    ;;
-*) fail "unknown argument '$1'; --help lists the known ones" ;;
*) mkdir -p "$1" && folder=$(cd "$1" && pwd) ;;
esac

for program in apt-get dpkg-source make cc; do
    command -v "$program" >/dev/null || fail "$program is missing; remedy: apt-get install build-essential dpkg-dev"
done
# "redis-server | 5:7.0.15-1 | http://deb.debian.org/debian bookworm/main amd64 Packages": where the package is from.
origins=$(LC_ALL=C apt-cache madison redis-server | awk -F'[|]' '{ split($3, at, " "); split(at[2], in_, "/"); print at[1], in_[1], in_[2] }' | sort -u)
[ -n "$origins" ] || fail "apt does not know redis-server; remedy: apt-get update"

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/source" "$folder"
keys=
for ring in /usr/share/keyrings/debian-archive-keyring.gpg /usr/share/keyrings/ubuntu-archive-keyring.gpg; do
    [ ! -e "$ring" ] || keys="[signed-by=$ring] "
done
while read -r site suite component; do
    echo "deb-src $keys$site $suite $component"
done <<<"$origins" >"$work/sources.list"
apt=(apt-get -q -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=- -o Dir::State::Lists="$work/lists"
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root)
log=$folder/build.log
"${apt[@]}" update >"$log" 2>&1 || fail "the list of sources cannot be had, see $log"
(cd "$work/source" && "${apt[@]}" source redis) >>"$log" 2>&1 || fail "the source cannot be had, see $log"
source=$(find "$work/source" -mindepth 1 -maxdepth 1 -type d -name 'redis-*')
[ -d "$source" ] || fail "the source package has no folder redis-*, see $log"

# Debian's patches have redis take Lua, jemalloc and hiredis from the system; what the make files need is built in place.
make -C "$source" -j "$(nproc)" MALLOC=libc USE_SYSTEMD=no USE_SYSTEM_JEMALLOC=no BUILD_TLS=no >>"$log" 2>&1 || fail "it does not compile, see $log"
for program in redis-server redis-cli; do
    install -m 755 "$source/src/$program" "$folder/$program"
done

# The allocator that the server names is the one that it was compiled for.
"$folder/redis-server" --version | grep -q 'malloc=libc' || fail "the server that was built does not say malloc=libc"
"$folder/redis-server" --version
