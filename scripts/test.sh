#!/usr/bin/env bash
# Everything that CI runs: installs what is missing, checks format and lints, builds, runs every test.
#
# One cargo profile, release: jemalloc takes minutes to compile, and a profile more would compile it again.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in
"") ;;
-h | --help)
    echo "usage: scripts/test.sh"
    echo "Installs what is missing (as root; otherwise says what to type), then checks, builds and tests everything."
    exit 0
    ;;
*)
    echo "test.sh: unknown argument '$1'; it takes none" >&2
    exit 125
    ;;
esac

step() { printf '\n== %s\n' "$1"; }

step "Packages"
packages=(
    build-essential binutils # the library, and fixtures in C and C++
    shellcheck
    python3 perl git curl sqlite3 redis-server redis-tools nginx-light memcached prometheus libcap2-bin util-linux procps # real programs
    busybox-static musl-tools # programs that a preload cannot reach
    faketime fakeroot fakechroot eatmydata proxychains4 torsocks libnss-wrapper libsocket-wrapper # other preloaded libraries
    valgrind # instruction counts
    dpkg-dev # a redis-server with libc's malloc, from the source package
    qemu-system-common # qemu-storage-daemon
    libjemalloc2 libmimalloc2.0 libtcmalloc-minimal4 libtbbmalloc2 # allocators to compare
    time hyperfine # whose figures those of `jeshim compare` have to agree with
    dash python3-yaml # readers of what `jeshim env` writes
)
# More readers, of completions too, and the corpus of cli/tests/corpus: whatever of it this system has.
more=(
    zsh fish systemd supervisor buildah docker-compose
    ksh93u+m mksh tcsh ruby lua5.4 php-cli tcl nodejs guile-3.0 gawk mawk sbcl swi-prolog-nox default-jdk-headless
    postgresql-15 mariadb-server-core wget apache2-bin haproxy varnish bind9-dnsutils clang lld mold cmake imagemagick
    vim-tiny nano openssh-client gpg openssl jq tmux rsync xterm xvfb xauth restic age runc gron lf bash-static
    zsh-static sash libgoogle-perftools-dev libjemalloc-dev libmimalloc-dev sudo iputils-ping tini dumb-init strace gdb
    firefox-esr chromium
)
# A 32-bit compiler exists on x86-64 only.
[ "$(uname -m)" != x86_64 ] || packages+=(gcc-multilib)
scripts/install-missing.sh "${packages[@]}"
# A program of the corpus that is not there is skipped, by name. On the system that the corpus is of, it is a failure.
if ! scripts/install-missing.sh --optional "${more[@]}"; then
    echo "test.sh: going on with what there is of the corpus; the programs that are missing are named below" >&2
elif [ "$(id -u)" -eq 0 ] && grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release; then
    export CORPUS_COMPLETE=1
fi

if ! command -v cargo >/dev/null; then
    echo "test.sh: no cargo; remedy: install Rust $(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml) or later from https://rustup.rs" >&2
    exit 1
fi
for component in clippy rustfmt; do
    # A minimal toolchain lacks them.
    cargo "${component/rustfmt/fmt}" --version >/dev/null 2>&1 || rustup component add "$component"
done

step "Format"
cargo fmt --all --check

step "Lints"
cargo clippy --locked --release --workspace --all-targets -- -D warnings
shellcheck scripts/*.sh scenarios/*/*.sh

step "macOS, as far as this machine can"
status=0
scripts/check-macos.sh || status=$?
# 77: no compiler for it can be had here, as the script has said.
[ "$status" -eq 0 ] || [ "$status" -eq 77 ] || exit "$status"

step "Build and test"
cargo build --locked --release --workspace
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cargo test --locked --release --workspace --no-fail-fast 2>&1 | tee "$log"

# The sum of what cargo's runners said, one line each.
awk '/^test result:/ { passed += $4; failed += $6; ignored += $8 }
    END { printf "\n%d passed, %d failed, %d skipped\n", passed, failed, ignored }' "$log"
