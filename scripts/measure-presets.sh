#!/usr/bin/env bash
# Measures what the presets of `jeshim run` trade, against `default`, and prints tables in Markdown for docs/presets.md.
# This part sees to it that everything exists; measure_presets.py measures.
set -euo pipefail

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    cat <<'TEXT'
usage: scripts/measure-presets.sh [--rounds N] [--only PROGRAM,...] [--presets NAME,...] [--try OPTIONS]...

  --rounds N    rounds (default 9: about five minutes)
  --only ...    some of: json-rpc, kv-churn, io-threads, block-build, python3, redis-server, buffers,
                visitors, requests
  --presets ... some of them; default has to be one
  --try OPTIONS an option string, as in MALLOC_CONF, to measure beside the presets

Builds the library, the command and the workloads first, where they are not up to date.
TEXT
    exit 0
fi

cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-$PWD/target}
scripts/install-missing.sh gcc python3 time redis-server redis-tools >&2
command -v cargo >/dev/null || { echo "measure-presets: cargo not found; install Rust first (https://rustup.rs)" >&2; exit 1; }
[[ -n ${MEASURE_PRESETS_BUILT:-} ]] || cargo build --locked --release --workspace >&2
requests=$(mktemp -d)/requests
trap 'rm -r "$(dirname "$requests")"' EXIT
gcc -O2 -fno-builtin -pthread -o "$requests" workloads/timing/requests.c
built=${MEASURE_PRESETS_BUILT:-$target/release}
/usr/bin/python3 scripts/measure_presets.py --jeshim "${MEASURE_PRESETS_JESHIM:-$built/jeshim}" --lib "$built/libjeshim.so" --programs "$built" \
    --requests "$requests" "$@"
