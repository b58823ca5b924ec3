#!/usr/bin/env bash
# Runs jemalloc's own integration tests against the library, linked and preloaded. The tests are compiled from the source
# of tikv-jemalloc-sys in cargo's registry, which is only read; jemalloc itself is not compiled: LIB has to be the allocator.
set -euo pipefail

usage() {
    cat <<'TEXT'
usage: scripts/jemalloc-tests.sh [--quick] LIB [BUILD_DIR]

Compiles jemalloc's integration tests in BUILD_DIR (default: target/jemalloc-tests) and runs each of them twice:
  linked     the executable is linked with LIB, where upstream links libjemalloc.so
  preloaded  the executable knows nothing of LIB, which comes in by LD_PRELOAD
and each time under every option string under which upstream's "make check" runs them; with --quick only under the
default options, as upstream's "make check_integration" does.

One line per test and mode: PASS, FAIL, SKIP, or EXPECTED for what the table of exceptions in docs/jemalloc-own-tests.md
foresees. Exit status: 0 when every result is as that table says, 1 when not, 2 when the tests could not be built.
CC and CXX choose the compilers.

example: scripts/jemalloc-tests.sh target/release/libjeshim.so
TEXT
}

say() { printf 'jemalloc-tests: %s\n' "$*" >&2; }
die() { say "$*"; exit 2; }

quick=
case ${1:-} in
    -h | --help) usage; exit 0 ;;
    --quick) quick=yes; shift ;;
    -*) usage >&2; die "unknown option $1" ;;
esac
if (($# < 1 || $# > 2)); then
    usage >&2
    exit 2
fi

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
exceptions=$root/docs/jemalloc-own-tests.md
[[ -f $1 ]] || die "no library at $1; build it first: cargo build --release"
lib=$(cd -- "$(dirname -- "$1")" && pwd)/$(basename -- "$1")
build=${2:-${CARGO_TARGET_DIR:-$root/target}/jemalloc-tests}
mkdir -p "$build"
build=$(cd -- "$build" && pwd)
[[ $lib != *[[:space:]:]* ]] || die "LD_PRELOAD cannot name $lib: it separates names at spaces and colons; copy the library elsewhere"
[[ $build != *[[:space:]]* ]] || die "jemalloc's Makefile cannot work in $build: there is a space in the name; choose another BUILD_DIR"

read -ra cc <<<"${CC:-cc}"
read -ra cxx <<<"${CXX:-c++}"
missing=()
command -v make >/dev/null || missing+=(make)
command -v nm >/dev/null || missing+=(binutils)
command -v "${cc[0]}" >/dev/null || missing+=(gcc)
command -v "${cxx[0]}" >/dev/null || missing+=(g++)
((${#missing[@]} == 0)) || die "missing: ${missing[*]}. Type: sudo apt-get install -y ${missing[*]}"

# One run at a time in a build directory. The tests see none of the caller's settings for allocator, loader or make.
exec 9>"$build/lock"
flock 9
unset MALLOC_CONF LD_PRELOAD LD_BIND_NOW JEMALLOC_TEST_NAME JEMALLOC_TEST_PREFIX MAKEFLAGS MFLAGS "${!JESHIM_@}"
export LC_ALL=C
ulimit -c 0

# ---- Where the source is, and its configuration -----------------------------------------------------------------------

metadata=$(cd "$root" && "${CARGO:-cargo}" metadata --format-version 1 --locked) || die "cargo metadata failed (see above)"
manifest=$(grep -o '"manifest_path":"[^"]*/tikv-jemalloc-sys[^"/]*/Cargo.toml"' <<<"$metadata" | head -n 1 | cut -d'"' -f4)
[[ -n $manifest ]] || die "tikv-jemalloc-sys is not among the dependencies that cargo metadata names"
crate=$(dirname -- "$manifest")
[[ -f $crate/configure/configure && -d $crate/jemalloc/test/integration ]] ||
    die "no jemalloc source in $crate; remove that directory and run: cargo fetch"
version=$(sed -n 's/^version = "[^+"]*+\([^"]*\)".*/\1/p' "$crate/Cargo.toml" | head -n 1)
[[ -n $version ]] || die "no jemalloc version in $crate/Cargo.toml"

# As the crate configures jemalloc, but without the prefix (we export the plain names, and these tests call them) and
# with C++, for the tests in test/integration/cpp. Page sizes and the like follow the crate's own variables.
configure=("--with-version=$version" --enable-stats --enable-prof --enable-doc=no)
for option in lg-page lg-hugepage lg-quantum lg-vaddr; do
    variable=JEMALLOC_SYS_WITH_${option^^}
    variable=${variable//-/_}
    [[ -z ${!variable:-} ]] || configure+=("--with-$option=${!variable}")
done

# At -O3 gcc removes an operator new whose result is only deleted, and with it all that cpp/basic tests.
cxxflags=
if "${cxx[@]}" -fno-allocation-dce -fsyntax-only -x c++ /dev/null 2>/dev/null; then
    cxxflags=-fno-allocation-dce
fi

log=$build/build.log
step() {
    if ! "$@" >>"$log" 2>&1; then
        tail -n 20 "$log" >&2
        die "failed: $*; the whole log is $log"
    fi
}

source=$build/source
stamp=$(printf '%s\n' "crate $crate" "configure ${configure[*]}" "compilers ${cc[*]}, ${cxx[*]} $cxxflags" "tools $("${cc[@]}" --version | head -n 1)")
if [[ ! -f $build/configured || $(<"$build/configured") != "$stamp" ]]; then
    say "configuring jemalloc ${version%%-*}"
    rm -rf "$source" "$build/configured"
    : >"$log"
    cp -R "$crate/jemalloc" "$source"
    cp "$crate/configure/configure" "$source/"
    chmod -R u+w "$source"
    (cd "$source" && step env CC="${cc[*]}" CXX="${cxx[*]}" EXTRA_CXXFLAGS="$cxxflags" sh ./configure "${configure[@]}")
    # Without a C++ compiler that works, configure quietly leaves C++ out.
    grep -q "^enable_cxx='1'" "$source/config.log" || die "${cxx[*]} cannot compile C++ here; the log is $source/config.log"
    printf '%s\n' "$stamp" >"$build/configured"
fi

# ---- Compiling ----------------------------------------------------------------------------------------------------------

# What upstream links into these tests beside the library: the test library and three private helpers. The hooks in
# test_hooks.c come from upstream's libjemalloc.so, which exports them for these tests alone; ours does not, so they are
# linked into the tests. The library calls them in neither.
helpers=(src/nstime.c src/malloc_io.c src/ticker.c src/test_hooks.c)
cd "$source"
testlib=(test/src/*.c)
c_tests=(test/integration/*.c)
cxx_tests=(test/integration/cpp/*.cpp)
helper_objects=("${helpers[@]/%.c/.integration.o}" "${testlib[@]/%.c/.integration.o}")
# Upstream's rules make the objects. C_SRCS is overridden because the rules would otherwise compile all of jemalloc to
# learn its private names; smallocx.c is only in TESTS_INTEGRATION when the experimental function was configured in.
say "compiling ${#c_tests[@]} tests in C and ${#cxx_tests[@]} in C++"
step make -j2 C_SRCS="${helpers[*]}" C_UTIL_INTEGRATION_SRCS="${helpers[*]}" TESTS_INTEGRATION="${c_tests[*]}" \
    "${helper_objects[@]}" "${c_tests[@]/%.c/.o}" "${cxx_tests[@]/%.cpp/.o}"

# What the preloaded executables are linked with: the names of jemalloc's API that libc lacks, each of which ends the
# test. LD_PRELOAD comes before it.
gid=$(sed -n 's/^#define JEMALLOC_VERSION_GID_IDENT //p' include/jemalloc/jemalloc_macros.h)
api=(mallocx rallocx xallocx sallocx dallocx sdallocx nallocx mallctl mallctlnametomib mallctlbymib malloc_stats_print "smallocx_$gid")
stub=$build/libjemalloc-stub.so
{
    printf '%s\n' '#include <stdlib.h>' '#include <unistd.h>' \
        'static void end(const char *text, size_t length) { if (write(2, text, length)) {} abort(); }' \
        '#define STUB(name) void name(void) { end("stub: " #name "\n", sizeof "stub: " #name); }'
    printf 'STUB(%s)\n' "${api[@]}"
} >"$build/stub.c"
step "${cc[@]}" -shared -fPIC -fno-builtin -Wl,-soname,libjemalloc-stub.so -o "$stub" "$build/stub.c"

# ---- Running ------------------------------------------------------------------------------------------------------------

# check_integration, check_integration_prof and check_integration_decay of upstream's Makefile.
option_strings=("" "prof:true" "prof:true,prof_active:false" "dirty_decay_ms:-1,muzzy_decay_ms:-1" "dirty_decay_ms:0,muzzy_decay_ms:0")
[[ -z $quick ]] || option_strings=("")
# An idle machine needs 15 for the slowest.
seconds=600

link() { # mode, test: an executable at the path that upstream's test.sh expects below the mode's directory
    local executable=$build/$1/$2 library compiler=("${cc[@]}")
    [[ $2 != */cpp/* ]] || compiler=("${cxx[@]}")
    case $1 in
        linked) library=$lib ;;
        preloaded) library=$stub ;;
    esac
    [[ ! -e $2.sh ]] || cp "$2.sh" "$executable.sh"
    # An RPATH, because unlike a RUNPATH it goes before LD_LIBRARY_PATH, where cargo may name another build's directory.
    "${compiler[@]}" -o "$executable" "$2.o" "${helper_objects[@]}" "$library" \
        -Wl,--disable-new-dtags,-rpath,"${library%/*}" -pthread -lm
}

# Which objects serve the allocation functions that an executable calls, as "name object" lines: the loader resolves all
# of them and tells, without running the program.
allocation='malloc|calloc|realloc|free|posix_memalign|aligned_alloc|memalign|valloc|pvalloc|malloc_usable_size|free_sized|free_aligned_sized|_Zn[wa].*|_Zd[la]P.*'
bindings() { # executable, then the preload setting if there is one
    local executable=$1 wanted bound
    shift
    wanted=$(nm -D --undefined-only "$executable" | awk '{ sub(/@.*/, "", $NF); print $NF }' |
        grep -E "^($allocation|$(IFS='|'; echo "${api[*]}"))\$" | sort)
    bound=$(env "$@" LD_TRACE_LOADED_OBJECTS=1 LD_WARN=yes LD_BIND_NOW=1 LD_DEBUG=bindings "$executable" 2>&1 |
        sed -n "s|.*binding file $executable \[0\] to \(.*\) \[0\]: normal symbol .\([^']*\)'.*|\2 \1|p" | sort -u)
    join -a 1 -e nothing -o 0,2.2 <(printf '%s\n' "$wanted") <(printf '%s\n' "$bound")
}

first() { grep -m 1 -E "$@" || true; }

run() { # mode, test, the text that the table of exceptions foresees if it does; sets result and reason
    local mode=$1 test=$2 found=$3 out=$build/$1/$2.out preload=() name object options summary assertions message failures=0
    result=FAIL
    if ! link "$mode" "$test" >"$out" 2>&1; then
        reason=$(first -o 'undefined (reference|symbol).*' <"$out")
        reason="link: ${reason:-$(tail -n 1 "$out")}"
        return
    fi
    [[ $mode == linked ]] || preload=("LD_PRELOAD=$lib")
    cd "$build/$mode"
    while read -r name object; do
        if [[ ! $object -ef $lib ]]; then
            reason="$name is served by ${object##*/}, not by the library"
            return
        fi
    done < <(bindings "$test" "${preload[@]}")

    result=PASS reason=
    for options in "${option_strings[@]}"; do
        # Upstream's own runner; it reads the test's .sh and gives back a summary. The shells in between are not preloaded.
        JEMALLOC_TEST_PREFIX="timeout --foreground --verbose -k 5 $seconds env ${preload[*]}" MALLOC_CONF=$options \
            sh "$source/test/test.sh" "$test" >"$out" 2>&1 </dev/null || true
        summary=$(first '^Test suite summary:' <"$out")
        case $summary in
            *" pass: 1/1, "*) ;;
            *" skip: 1/1, "*)
                result=SKIP
                reason=$(first -B 1 ': skip$' <"$out" | head -n 1)
                ;;
            *" fail: 1/1"*)
                # An assertion that the table does not foresee goes before those that it does.
                assertions=$(grep 'Failed assertion' "$out" || true)
                reason=$(grep -m 1 -v -F -e "$found" <<<"$assertions" || true)
                reason="MALLOC_CONF=\"$options\": ${reason:-${assertions%%$'\n'*}}"
                failures=$((failures + 1))
                ;;
            *) # The runner gives no summary when the test did not come to its end.
                reason=$(first 'Aborted|fault|error while loading' <"$out")
                ! grep -q '^timeout: sending' "$out" || reason="no result after $seconds seconds"
                message=$(first '^<jemalloc>:|^stub:|Failed assertion' <"$out")
                reason="MALLOC_CONF=\"$options\": ${reason:-$(tail -n 1 "$out")}${message:+, after $message}"
                failures=$((failures + 1))
                ;;
        esac
        if ((failures)); then
            result=FAIL
            [[ -n $found && $reason == *"$found"* ]] || return 0
        fi
    done
    if ((failures && failures < ${#option_strings[@]})); then
        reason="it passes under $((${#option_strings[@]} - failures)) of ${#option_strings[@]} option strings"
    fi
}

# The table of exceptions: rows "| test | mode | result | text in the reason | why |" between two marks.
rows=$(awk -F' *[|] *' '
    /<!-- exceptions: end/ { inside = 0 }
    inside && NF > 5 && $2 ~ /^`/ { gsub(/`/, ""); print $2 "\t" $3 "\t" $4 "\t" $5 "\t" $6 }
    /<!-- exceptions: begin/ { inside = 1; marked = 1 }
    END { exit !marked }
' "$exceptions") || die "no table of exceptions in $exceptions"

run_mode() { # mode
    local path test result reason listed found why line verdict
    local results=$build/$1.results
    : >"$results"
    for path in "${c_tests[@]%.c}" "${cxx_tests[@]%.cpp}"; do
        test=${path#test/integration/}
        listed='' found='' why=''
        while IFS=$'\t' read -r row_test row_mode row_result row_text row_why; do
            if [[ $row_test == "$test" && ($row_mode == "$1" || $row_mode == both) ]]; then
                listed=$row_result found=$row_text why=$row_why
            fi
        done <<<"$rows"
        cd "$source"
        run "$1" "$path" "$found"
        verdict=good
        if [[ -z $listed ]]; then
            line="$result $test $1${reason:+ ($reason)}"
            [[ $result == PASS ]] || verdict=bad
            [[ $result != SKIP ]] || line="SKIP $test $1 (not in the table of exceptions: $reason)"
        elif [[ $result != "$listed" ]]; then
            verdict=bad line="FAIL $test $1 (the table of exceptions says $listed, but it is $result${reason:+: $reason})"
        elif [[ $reason != *"$found"* ]]; then
            verdict=bad line="FAIL $test $1 (the table of exceptions foresees \"$found\", but: $reason)"
        elif [[ $result == SKIP ]]; then
            line="SKIP $test $1 ($reason)"
        else
            line="EXPECTED $test $1 ($why)"
        fi
        printf '%s\n' "$line"
        printf '%s\n' "$verdict $line" >>"$results"
    done
}

duration="under ${#option_strings[@]} option strings each; a few minutes"
[[ -z $quick ]] || duration="under the default options; less than a minute on an idle machine"
say "running them with ${lib##*/}, linked and preloaded, $duration"
rm -rf "$build/linked" "$build/preloaded"
mkdir -p "$build"/{linked,preloaded}/test/integration/cpp
jobs=()
trap 'kill -- "${jobs[@]/#/-}" 2>/dev/null; exit 130' INT TERM
# Job control gives each its own process group, so that an interrupted run leaves no test behind.
set -m
for mode in linked preloaded; do
    run_mode "$mode" </dev/null &
    jobs+=("$!")
done
set +m
for job in "${jobs[@]}"; do
    wait "$job" || die "a run ended early (see above)"
done

stale=0
while IFS=$'\t' read -r row_test _; do
    if [[ -n $row_test && ! -e $source/test/integration/$row_test.o ]]; then
        echo "FAIL $row_test (the table of exceptions names it, but there is no such test)"
        stale=$((stale + 1))
    fi
done <<<"$rows"

count() { cat "$build"/{linked,preloaded}.results | grep -c "^$1 " || true; }
failed=$(($(count bad) + stale))
printf 'summary: jemalloc %s, %d tests in 2 modes: %d passed, %d skipped, %d expected exceptions, %d not as they should be\n' \
    "${version%%-*}" $((${#c_tests[@]} + ${#cxx_tests[@]})) "$(count 'good PASS')" "$(count 'good SKIP')" "$(count 'good EXPECTED')" "$failed"
if ((failed)); then
    say "the last output of each test is in $build/linked and $build/preloaded"
    exit 1
fi
