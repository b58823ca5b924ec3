#!/usr/bin/env bash
# Measures the library against upstream's own build of the same jemalloc and against the system's allocator, and prints a
# report in Markdown. This part sees to it that everything that is measured exists; bench.py measures.
set -euo pipefail

usage() {
    cat <<'TEXT'
usage: scripts/bench.sh [--quick] [--rounds N] [--only PART,...] [--lib PATH] [--out FILE]

  --quick      three rounds and the main instruction counts only: one to two minutes once all is built
  --rounds N   rounds of the timed programs (default 15, with --quick 3)
  --only PART  some of: instructions, free-only, load, wall, size (default: all)
  --lib PATH   measure this preload library in place of target/release/libjeshim.so
  --out FILE   write the report to FILE as well, for example docs/benchmarks.md

Builds the library, the workloads and upstream's libjemalloc.so first, where they are not up to date.
Other work on the machine disturbs the timed parts; instruction counts do not mind.
TEXT
}

say() { printf 'bench: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
command_line="scripts/bench.sh${*:+ $*}"
library='' out='' rounds=15 quick='' only=''
while (($#)); do
    case $1 in
        --quick) quick=--quick rounds=3 ;;
        --rounds | --only | --lib | --out)
            (($# > 1)) || { usage >&2; die "$1 wants a value"; }
            case $1 in
                --rounds) rounds_asked=$2 ;;
                --only) only=$2 ;;
                --lib) library=$2 ;;
                --out) out=$2 ;;
            esac
            shift
            ;;
        -h | --help) usage; exit 0 ;;
        *) usage >&2; die "unknown argument $1" ;;
    esac
    shift
done
rounds=${rounds_asked:-$rounds}
[[ $rounds =~ ^[1-9][0-9]{0,3}$ ]] || die "--rounds wants a number from 1 to 9999, not '$rounds'"
[[ -z $library || -r $library ]] || die "--lib: cannot read $library"
if [[ -n $out ]]; then
    [[ -d $(dirname -- "$out") && -w $(dirname -- "$out") ]] || die "--out: $(dirname -- "$out") is not a directory that can be written to"
fi

# From here on paths are seen from the root of the project, the user's own excepted.
[[ -z $library ]] || library=$(realpath -- "$library")
[[ -z $out ]] || out=$(realpath -m -- "$out")

cd "$root"
# The programs that are timed beside the workloads are optional: bench.py says which are missing.
scripts/install-missing.sh valgrind gcc g++ make binutils python3 >&2
command -v cargo >/dev/null || die "cargo not found: install Rust first (https://rustup.rs)"

# A preload or options of the caller's would be in every figure, the baseline's too.
unset LD_PRELOAD MALLOC_CONF

# Apart from each other, because features of the workloads' dependencies must not reach the library.
if [[ -z $library ]]; then
    say "building the library"
    cargo build --release --locked --quiet
    library=$target/release/libjeshim.so
    [[ -r $library ]] || die "cargo built no $library"
fi
say "building the workloads"
cargo build --release --locked --quiet --package jeshim-workloads
upstream=$(scripts/upstream.sh)

work=$target/bench
mkdir -p "$work"
say "building the measuring programs"
cc -O2 -Wall -Wextra -o "$work/pair" workloads/instructions/pair.c -ldl
cc -O2 -Wall -Wextra -o "$work/free_only" workloads/instructions/free_only.c -pthread -ldl
cc -O2 -Wall -Wextra -o "$work/spawn" workloads/timing/spawn.c
c++ -O2 -Wall -Wextra -std=c++17 -o "$work/new_delete" workloads/instructions/new_delete.cpp -ldl

# jemalloc as the crate built it, before our exports: what an exported name of ours jumps to.
direct=()
archive=$(find "$target"/release/build/tikv-jemalloc-sys-*/out/lib -name libjemalloc_pic.a -printf '%T@ %p\n' 2>/dev/null | sort -rn | head -n 1 | cut -d' ' -f2-) || true
if [[ -n $archive ]]; then
    cc -O2 -Wall -Wextra -DDIRECT -o "$work/pair-direct" workloads/instructions/pair.c "$archive" -lm -pthread -ldl
    direct=(--direct "$work/pair-direct")
else
    say "no archive of the crate's jemalloc in $target/release: leaving out the count of the function jumped to"
fi

exec python3 scripts/bench.py --command-line "$command_line" --work "$work" --workloads "$target/release" \
    --lib "$library" --upstream "$upstream" "${direct[@]}" --rounds "$rounds" ${quick:+"$quick"} \
    ${only:+--only "$only"} ${out:+--out "$out"}
