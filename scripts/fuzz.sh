#!/usr/bin/env bash
# Feeds damaged files to the reading of ELF and Mach-O (cli/fuzz), with coverage, for as long as is asked. The short form of
# this is in CI: unit tests that read some ten thousand damaged files.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=150
case "${1:-}" in
-h | --help)
    echo "usage: scripts/fuzz.sh [SECONDS]"
    echo "Runs each of the two targets for so many seconds (150). What makes one crash is kept below target/fuzz, and its path printed."
    echo "Exit status: 0 no crash, 1 a crash, 125 it could not be built."
    exit 0
    ;;
"") ;;
*[!0-9]*)
    echo "fuzz.sh: '$1' is not a number of seconds; scripts/fuzz.sh --help" >&2
    exit 125
    ;;
*) seconds=$1 ;;
esac

target=$(rustc -vV | sed -n 's/^host: //p')
folder=$PWD/target/fuzz
# Instrumentation is an option of unreleased compilers; this has the released one take it.
export RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=$folder/build
export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares -Clink-dead-code -Cdebug-assertions -Coverflow-checks -Copt-level=2"
cargo build --locked --manifest-path cli/fuzz/Cargo.toml --target "$target" || exit 125

for name in elf macho; do
    mkdir -p "$folder/corpus-$name" "$folder/crashes-$name"
done
# Seeds: small programs of this machine, and what the tests have had linked for macOS.
find /bin/true /bin/ls /bin/cat /usr/lib -maxdepth 2 -type f -size -200k \( -name '*.so*' -o -path '/bin/*' \) 2>/dev/null |
    head -n 60 | xargs -I{} cp -n {} "$folder/corpus-elf/" 2>/dev/null || true
find target/tmp -type f -size -200k -exec sh -c 'case $(head -c 4 "$1" | od -An -tx1 | tr -d " ") in cffaedfe|cefaedfe|cafebabe|cafebabf) cp "$1" "$2/$(cksum <"$1" | cut -d" " -f1)" ;; esac' \
    sh {} "$folder/corpus-macho" \; 2>/dev/null || true

failed=0
for name in elf macho; do
    echo "== $name, $seconds s, $(find "$folder/corpus-$name" -type f | wc -l) files to begin with"
    log=$folder/$name.log
    if ! "$folder/build/$target/debug/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=262144 \
        -artifact_prefix="$folder/crashes-$name/" -print_final_stats=1 "$folder/corpus-$name" >"$log" 2>&1; then
        failed=1
        tail -n 20 "$log"
    fi
    grep -E '^(stat::number_of_executed_units|Done )' "$log" || true
done
exit "$failed"
