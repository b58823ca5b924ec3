#!/usr/bin/env bash
# Builds upstream's own libjemalloc.so: unprefixed, with the C++ operators, as a distribution would ship it, from the very
# source and with the optimisation flags that the crate tikv-jemalloc-sys uses for our library. It is what the benchmark
# and the tests compare with. Cargo's registry is only read.
set -euo pipefail

usage() {
    cat <<'TEXT'
usage: scripts/upstream.sh [DESTDIR]

Builds upstream's libjemalloc.so into DESTDIR (default: target/upstream) and prints its path on standard output.
Does nothing when it is already there, built from the same version with the same flags.
CC and CXX choose the compilers, as for any configure script.
TEXT
}

say() { printf 'upstream: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

case ${1:-} in
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; die "unknown option $1" ;;
esac
if (($# > 1)); then
    usage >&2
    die "one directory at most"
fi

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
dest=${1:-$target/upstream}

# Without a C++ compiler jemalloc's configure quietly leaves the operators out, so its absence has to be an error here.
"$root/scripts/install-missing.sh" make gcc g++ binutils python3 >&2
command -v cargo >/dev/null || die "cargo not found: install Rust first (https://rustup.rs)"

# Where the source is and which version it is: cargo knows (and fetches the crate if this is a fresh clone). Filtered, so that
# it does not fetch what only other systems need.
host=$(rustc -vV | sed -n 's/^host: //p')
found=$(cd "$root" && cargo metadata --format-version 1 --locked --filter-platform "$host" | python3 -c '
import json, os, sys
for package in json.load(sys.stdin)["packages"]:
    if package["name"] == "tikv-jemalloc-sys":
        print(os.path.dirname(package["manifest_path"]))
        print(package["version"].partition("+")[2])
') || die "cargo metadata failed (see above)"
{ read -r source && read -r version; } <<<"$found" || die "tikv-jemalloc-sys is not among the dependencies, or has no jemalloc version"
[[ -f $source/configure/configure && -d $source/jemalloc/src ]] || die "no jemalloc source in $source; remove that directory and run: cargo fetch"

# The flags the crate was compiled with are in its build script's output once the library is built. Before that, these
# are what the cc crate passes for a release build.
flags="-O3 -ffunction-sections -fdata-sections -fPIC"
while IFS= read -r log; do
    line=$(grep -m1 '^CFLAGS="' "$log" || true)
    if [[ -n $line ]]; then
        line=${line#CFLAGS=\"}
        flags=${line%\"}
        break
    fi
done < <(find "$target"/release/build/tikv-jemalloc-sys-*/ -maxdepth 1 -name output -printf '%T@ %p\n' 2>/dev/null | sort -rn | cut -d' ' -f2-)

# Statistics and profiling as our library has them; everything else is upstream's default.
configure=("--with-version=$version" --enable-stats --enable-prof --enable-doc=no --enable-static=no)
library=$dest/libjemalloc.so
stamp=$(printf '%s\n' "version $version" "flags $flags" "configure ${configure[*]}" "compilers ${CC:-cc} ${CXX:-c++}")
if [[ -f $library && -f $dest/built-with && $(<"$dest/built-with") == "$stamp" ]]; then
    say "already built: jemalloc ${version%%-*}"
    printf '%s\n' "$library"
    exit 0
fi

mkdir -p "$dest"
build=$(mktemp -d "$dest/build.XXXXXX")
trap 'rm -rf "$build"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
log=$dest/build.log
cp -R "$source/jemalloc/." "$build/"
cp "$source/configure/configure" "$build/"
chmod -R u+w "$build"

step() {
    say "$1"
    shift
    if ! (cd "$build" && "$@") >>"$log" 2>&1; then
        tail -n 20 "$log" >&2
        die "failed: $*; the whole log is $log"
    fi
}
: >"$log"
step "configuring jemalloc ${version%%-*} ($flags)" \
    env CC="${CC:-cc}" CXX="${CXX:-c++}" CFLAGS="$flags" CXXFLAGS="$flags" sh ./configure "${configure[@]}"
step "compiling; about a minute" make -j "$(nproc)" build_lib_shared

# Renamed into place, so that an interrupted or a second run never leaves half a library under the final name.
cp "$build/lib/libjemalloc.so.2" "$build/finished"
names=$(nm -D --defined-only "$build/finished")
for name in malloc mallctl _Znwm _ZdlPvm; do
    grep -q " $name\$" <<<"$names" || die "the library built does not export $name; the log is $log"
done
mv -f "$build/finished" "$library"
printf '%s\n' "$stamp" >"$dest/built-with"
say "built"
printf '%s\n' "$library"
