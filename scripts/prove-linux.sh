#!/usr/bin/env bash
# Shows whether jemalloc serves a program: `jeshim check` of this project, built first where it is missing.
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
built=${CARGO_TARGET_DIR:-$root/target}/release
case "${1:-}" in
"" | -h | --help)
    cat <<'TEXT'
usage: scripts/prove-linux.sh [OPTIONS] PROGRAM [ARGUMENT...]

Runs PROGRAM once with libjeshim.so preloaded and says whether jemalloc served it, and if not, why: `jeshim check`, whose
options it takes (--lib PATH, --json, --for TIME ...; target/release/jeshim check --help).

Exit status: 0 served, 1 not served, 2 in part, 3 could not tell, 125 it could not do its work, 126, 127 PROGRAM cannot be
executed, is not found.

example: scripts/prove-linux.sh python3 -c 'print(sum(range(10)))'
TEXT
    [[ $# -gt 0 ]] || exit 125
    exit 0
    ;;
esac
if [[ ! -x $built/jeshim || ! -e $built/libjeshim.so ]]; then
    command -v cargo >/dev/null || {
        echo "prove-linux: no cargo to build the command with; remedy: install Rust from https://rustup.rs" >&2
        exit 125
    }
    (cd "$root" && cargo build --locked --release -p jeshim -p jeshim-cli) >&2 || exit 125
fi
exec "$built/jeshim" check "$@"
