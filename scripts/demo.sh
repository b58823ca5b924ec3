#!/usr/bin/env bash
# Builds the library, runs real programs on it, and ends with the proof that it served them.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in
"") ;;
-h | --help)
    echo "usage: scripts/demo.sh"
    echo "Installs what is missing (as root; otherwise says what to type), builds target/release/libjeshim.so, runs"
    echo "python3, gcc and redis-server on it, and shows who served how many allocations."
    exit 0
    ;;
*)
    echo "demo.sh: unknown argument '$1'; it takes none" >&2
    exit 125
    ;;
esac

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$(printf '\033[1m') plain=$(printf '\033[0m'); else bold='' plain=''; fi
step() { printf '\n%s== %s%s\n' "$bold" "$1" "$plain"; }

step "Packages"
scripts/install-missing.sh build-essential python3 redis-server redis-tools
if ! command -v cargo >/dev/null; then
    echo "demo.sh: no cargo; remedy: install Rust $(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml) or later from https://rustup.rs" >&2
    exit 1
fi
echo "All there."

step "Build (jemalloc takes some minutes the first time)"
cargo build --locked --release -p jeshim -p jeshim-cli
built=${CARGO_TARGET_DIR:-$PWD/target}/release
library=$built/libjeshim.so
jeshim=$built/jeshim
echo "$library, $(($(stat -c %s "$library") / 1024)) KiB"

folder=$(mktemp -d)
server=
cleanup() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    rm -rf "$folder"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

step "python3 builds and drops a JSON tree"
"$jeshim" check -- python3 -c '
import json
tree = json.loads(json.dumps([{"id": i, "tags": ["a", str(i)]} for i in range(20000)]))
print(len(tree), "objects")'

step "gcc compiles a program"
printf '#include <stdio.h>\nint main(void) { puts("compiled"); }\n' >"$folder/hello.c"
"$jeshim" check -- gcc -O2 -o "$folder/hello" "$folder/hello.c"
"$folder/hello"

step "redis-server answers redis-benchmark"
port=$((20000 + $$ % 20000))
"$jeshim" run --report "$folder/redis.json" -- redis-server --port "$port" --bind 127.0.0.1 --save '' \
    --dir "$folder" --logfile "$folder/redis.log" &
server=$!
for _ in $(seq 100); do
    redis-cli -p "$port" ping >/dev/null 2>&1 && break
    sleep 0.1
done
redis-benchmark -p "$port" -q -n 20000 -t set,get,lpush
redis-cli -p "$port" shutdown nosave >/dev/null 2>&1 || true
wait "$server" || true
server=

step "The proof: redis-server's own record"
grep -E '"(program|finished|jemalloc_version|ours|of|small_allocations|small_bytes|large_allocations|resident)"' "$folder/redis.json"
served=$(sed -n 's/.*"small_allocations": \([0-9]*\).*/\1/p' "$folder/redis.json")
if [ "${served:-0}" -gt 0 ]; then
    printf '\n%sjemalloc served %s small allocations of redis-server.%s\n' "$bold" "$served" "$plain"
    echo "Now yours:  $jeshim check -- YOUR-PROGRAM"
else
    echo "demo.sh: redis-server's record shows no allocation served; see $folder/redis.log" >&2
    trap - EXIT
    exit 1
fi
