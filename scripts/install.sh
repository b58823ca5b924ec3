#!/usr/bin/env bash
# Installs the command, the library, completions and manual pages. Programs that run on the library already go on with
# the file that they have: each file is put in its place by renaming, never written to.
set -euo pipefail
cd "$(dirname "$0")/.."

prefix=/usr/local
remove=
fail() {
    echo "install.sh: $*" >&2
    exit 125
}
while (($#)); do
    case $1 in
    --prefix) (($# > 1)) || fail "--prefix needs a folder"; prefix=$2; shift 2 ;;
    --prefix=*) prefix=${1#*=}; shift ;;
    --remove) remove=1; shift ;;
    -h | --help)
        cat <<'TEXT'
usage: scripts/install.sh [--prefix FOLDER] [--remove]

Builds what is not built yet, and installs below FOLDER (/usr/local; a package's staging folder works as well):
  bin/jeshim
  lib/jeshim/libjeshim.so, and beside it the workloads of jeshim compare: json-rpc, kv-churn, io-threads, block-build, table-bench
  share/man/man1/jeshim*.1
  share/bash-completion/completions/jeshim, share/zsh/site-functions/_jeshim, share/fish/vendor_completions.d/jeshim.fish
--remove takes these files away again.
TEXT
        exit 0
        ;;
    *) fail "unknown argument '$1'; --help lists the known ones" ;;
    esac
done

workloads=(json-rpc kv-churn io-threads block-build table-bench)
pages=$prefix/share/man/man1
bash=$prefix/share/bash-completion/completions/jeshim
zsh=$prefix/share/zsh/site-functions/_jeshim
fish=$prefix/share/fish/vendor_completions.d/jeshim.fish

if [[ -n $remove ]]; then
    rm -f -- "$prefix/bin/jeshim" "$prefix/lib/jeshim/libjeshim.so" "$pages"/jeshim.1 "$pages"/jeshim-*.1 "$bash" "$zsh" "$fish"
    rm -f -- "${workloads[@]/#/$prefix/lib/jeshim/}"
    if [[ -d $prefix/lib/jeshim ]]; then rmdir --ignore-fail-on-non-empty -- "$prefix/lib/jeshim"; fi
    echo "removed from $prefix"
    exit 0
fi

built=${CARGO_TARGET_DIR:-$PWD/target}/release
if [[ ! -x $built/jeshim || ! -e $built/libjeshim.so ]]; then
    command -v cargo >/dev/null || fail "no cargo to build it with; remedy: install Rust from https://rustup.rs"
    cargo build --locked --release -p jeshim -p jeshim-cli || fail "it could not be built, see above"
fi
for workload in "${workloads[@]}"; do
    [[ ! -e $built/$workload ]] || continue
    command -v cargo >/dev/null || fail "no cargo to build the workloads with; remedy: install Rust from https://rustup.rs"
    # Apart from the library, which features of their dependencies must not reach.
    cargo build --locked --release -p jeshim-workloads || fail "the workloads could not be built, see above"
    break
done

# put MODE FROM TO
put() {
    if ! { mkdir -p -- "$(dirname -- "$3")" && install -m "$1" -- "$2" "$3.new" && mv -f -- "$3.new" "$3"; }; then
        fail "$3 cannot be written; remedy: run as root, or choose a folder with --prefix"
    fi
}
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
"$built/jeshim" man "$folder/man"
for shell in bash zsh fish; do "$built/jeshim" completions "$shell" >"$folder/$shell"; done

put 755 "$built/jeshim" "$prefix/bin/jeshim"
put 755 "$built/libjeshim.so" "$prefix/lib/jeshim/libjeshim.so"
for workload in "${workloads[@]}"; do put 755 "$built/$workload" "$prefix/lib/jeshim/$workload"; done
for page in "$folder"/man/*.1; do put 644 "$page" "$pages/${page##*/}"; done
put 644 "$folder/bash" "$bash"
put 644 "$folder/zsh" "$zsh"
put 644 "$folder/fish" "$fish"
echo "installed in $prefix; now: $prefix/bin/jeshim doctor"
