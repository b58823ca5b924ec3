#!/usr/bin/env bash
# Compiles library, platform and command for macOS, both architectures, on any Linux machine: every type is checked, and
# of the library object code is made. Nothing is linked, since that takes jemalloc built for macOS, and nothing runs.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

targets=(aarch64-apple-darwin x86_64-apple-darwin)
case "${1:-}" in
"") ;;
-h | --help)
    echo "usage: scripts/check-macos.sh"
    echo "Compiles jeshim and jeshim-platform for ${targets[*]} to object code, and checks jeshim-host and jeshim-cli."
    echo "Takes the standard library for macOS from the toolchain (rustup target add ...), or builds it: from the toolchain's"
    echo "rust-src, or with Debian's rustc-web, unpacked into target/check-macos (about 800 MB) without installing it."
    echo "Exit status: 0 it compiles, 1 it does not, 77 skipped since no compiler for it can be had here, 125 usage."
    exit 0
    ;;
*)
    echo "check-macos: unknown argument '$1'; it takes none" >&2
    exit 125
    ;;
esac

skip() {
    echo "check-macos: SKIPPED: $*" >&2
    exit 77
}
command -v cargo >/dev/null || skip "no cargo; remedy: install Rust from https://rustup.rs"

folder=$PWD/target/check-macos
mkdir -p "$folder" || exit 1
needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

# Unpacks the newest package of this name below $folder/debian.
unpack() {
    local package=$1 options=()
    # The user under which apt downloads as root may not write here.
    [ "$(id -u)" -ne 0 ] || options=(-o APT::Sandbox::User=root)
    (cd "$folder/packages" && apt-get "${options[@]}" -qq download "$package") >>"$folder/log" 2>&1 &&
        dpkg -x "$folder/packages/${package}"_*.deb "$folder/debian" >>"$folder/log" 2>&1
}

# The packages of this name that a downloaded one depends on.
depends() {
    dpkg-deb --field "$folder/packages/$1"_*.deb Depends | grep -oE "$2" | head -n 1
}

# Debian's Rust, newer than the release's own, with matching source of the standard library.
get_debian() {
    local package pattern
    if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
        skip "this is not Debian or Ubuntu; remedy: rustup target add ${targets[*]}, or rustup component add rust-src"
    fi
    echo "Fetching Debian's Rust into target/check-macos"
    rm -rf "$folder/packages" "$folder/debian"
    mkdir -p "$folder/packages" "$folder/debian"
    : >"$folder/log"
    if ! apt-cache show rustc-web >/dev/null 2>&1 && [ "$(id -u)" -eq 0 ]; then
        apt-get -qq update >>"$folder/log" 2>&1
    fi
    for package in rustc-web rust-web-src libstd-rust-web-dev; do
        unpack "$package" || skip "Debian's package $package cannot be had ($folder/log); remedy: apt-get update with the security archive enabled, or rustup target add ${targets[*]}"
    done
    package=libstd-rust-web-dev
    for pattern in 'libstd-rust-web-[0-9.]+' 'libllvm[0-9]+'; do
        package=$(depends "$package" "$pattern")
        unpack "${package:=$pattern}" || skip "Debian's package $package cannot be had ($folder/log); remedy: apt-get update"
    done
    rm -rf "$folder/packages"
    touch "$folder/debian/complete"
}

# A compiler finds its libraries by LD_LIBRARY_PATH, and cargo gives no other way to set that for the compiler alone.
# Written each time: the folder may have been moved.
wrap_debian() {
    local driver missing
    driver=$(echo "$folder"/debian/usr/lib/*-linux-gnu*/librustc_driver-*.so)
    missing=$(LD_LIBRARY_PATH=$(dirname "$driver") ldd "$driver" | sed -n 's/^[[:space:]]*\([^ ]*\) => not found/\1/p' | tr '\n' ' ')
    [ -z "$missing" ] || skip "Debian's rustc-web needs libraries that are not installed: $missing; remedy: install the packages that hold them"
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%q exec %q "$@"\n' "$(dirname "$driver")" "$folder/debian/usr/bin/rustc" >"$folder/debian/rustc"
    chmod +x "$folder/debian/rustc"
}

has_target() { compgen -G "$(rustc --print target-libdir --target "$1" 2>/dev/null)/libstd-*" >/dev/null; }

compiler=rustc how="the toolchain's own standard library" options=()
for target in "${targets[@]}"; do
    has_target "$target" || compiler=
done
if [ -z "$compiler" ]; then
    # Makes a released compiler take the options of an unreleased one.
    export RUSTC_BOOTSTRAP=1
    options=('-Zbuild-std=core,alloc,std,panic_abort')
    if [ -e "$(rustc --print sysroot)/lib/rustlib/src/rust/library/std/Cargo.toml" ]; then
        compiler=rustc how="the standard library built from the toolchain's rust-src"
    else
        [ -e "$folder/debian/complete" ] || get_debian
        wrap_debian
        compiler=$folder/debian/rustc how="the standard library built from Debian's rust-web-src"
    fi
fi
export RUSTC=$compiler
version=$("$compiler" --version) || skip "the compiler does not run: $compiler"
number=${version#rustc }
number=${number%% *}
[ "$(printf '%s\n%s\n' "$needed" "$number" | sort -V | head -n 1)" = "$needed" ] ||
    skip "this compiler is too old ($version); $needed is needed; remedy: rustup update"

# jemalloc is not built: its place is taken by an archive without members.
mkdir -p "$folder/jemalloc" && printf '!<arch>\n' >"$folder/jemalloc/libjemalloc.a"
export JEMALLOC_OVERRIDE=$folder/jemalloc/libjemalloc.a
export CARGO_TARGET_DIR=$folder/build CARGO_PROFILE_DEV_DEBUG=0 CARGO_TERM_COLOR=never
# -D warnings for our own crates only would need a wrapper; RUSTFLAGS would reach the standard library too.
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS

failed=0
for target in "${targets[@]}"; do
    echo "Compiling for $target with $version, $how"
    # So that warnings are seen again when nothing has changed.
    cargo clean --quiet --locked --target "$target" --package jeshim --package jeshim-platform --package jeshim-host \
        --package jeshim-cli 2>/dev/null
    if ! { cargo rustc --locked ${options[@]+"${options[@]}"} --target "$target" --package jeshim --lib --crate-type rlib &&
        cargo check --locked ${options[@]+"${options[@]}"} --target "$target" --package jeshim-cli --bins; } \
        >"$folder/$target.log" 2>&1; then
        grep -vE '^ +(Compiling|Downloaded|Downloading|Fresh|Locking|Adding) ' "$folder/$target.log" >&2
        echo "check-macos: $target: FAILED (messages above)" >&2
        failed=1
    elif grep -E -A 8 '^warning' "$folder/$target.log" >&2; then
        echo "check-macos: $target: FAILED: warnings (above)" >&2
        failed=1
    else
        echo "$target: compiles, not linked, not run"
    fi
done
exit "$failed"
