#!/usr/bin/env bash
# Shows whether jemalloc serves a program on macOS: says beforehand what the system will refuse, then runs the program
# once with libjeshim.dylib inserted and reads two kinds of evidence, the statistics that jemalloc prints at exit and the
# proof records that the library writes (JESHIM_REPORT).
#
# Written for bash 3.2, the one that macOS has: no associative arrays, mapfile, BASHPID or {fd}.
set -uo pipefail

usage() {
    cat <<'TEXT'
usage: scripts/prove-macos.sh [--lib PATH] PROGRAM [ARGUMENT...]

Runs PROGRAM once with libjeshim.dylib inserted (DYLD_INSERT_LIBRARIES), then shows what jemalloc served to it and to the
programs it started. The last line is the verdict. The report goes to standard error; standard output is PROGRAM's alone.
PROGRAM's standard error is passed on line by line, without jemalloc's statistics. A server is ended with Ctrl-C, and
then judged. A program that the inserted library would end (another architecture, library validation) is not run.

  --lib PATH  the library; without it, target/release/libjeshim.dylib of this project
  --help      this text

Exit status:
  0    SERVED          jemalloc's zone comes first in PROGRAM, and served small allocations
  1    NOT SERVED      it did not; the verdict names cause and remedy
  2    IN PART         PROGRAM has an allocator of its own as well, or only programs that it started were served
  3    COULD NOT TELL  the library was loaded, but PROGRAM ended before its record could be finished
  125                  this script could not do its work
  126, 127             NOT STARTED: PROGRAM cannot be executed, is not found
PROGRAM's own exit status is shown, not returned.

example: scripts/prove-macos.sh /opt/homebrew/bin/python3 -c 'print(sum(range(10)))'

NO_COLOR=1 turns colours off. MALLOC_CONF and DYLD_INSERT_LIBRARIES of the caller are kept and added to; but a script
does not see the latter, since macOS takes it from every program that /bin/bash starts.
TEXT
}

fail() {
    printf 'prove-macos: %s\n' "$*" >&2
    exit 125
}

# ---- Arguments, the library, a private folder ---------------------------------------------------------------------------

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
library=${CARGO_TARGET_DIR:-$root/target}/release/libjeshim.dylib
remedy_library="build it with 'cargo build --release', or name it with --lib PATH"
while (($#)); do
    case $1 in
        -h | --help) usage; exit 0 ;;
        --lib) (($# > 1)) || fail "--lib needs a path"; library=$2; shift 2 ;;
        --lib=*) library=${1#*=}; shift ;;
        --) shift; break ;;
        -*) fail "unknown option $1; --help lists the known ones" ;;
        *) break ;;
    esac
done
(($#)) || fail "no program given; for example: scripts/prove-macos.sh /opt/homebrew/bin/python3 -c 'print(1)' (--help says more)"
[[ $(uname -s) == Darwin ]] || fail "this is not macOS; use scripts/prove-linux.sh"
[[ -f $library ]] || fail "no library at $library; $remedy_library"
[[ -r $library ]] || fail "this user may not read $library; change its mode, or name another with --lib PATH"
LC_ALL=C grep -aqF JESHIM_REPORT -- "$library" || fail "$library is not libjeshim.dylib; $remedy_library"
library=$(cd -- "$(dirname -- "$library")" && pwd -P)/${library##*/}

folder=$(mktemp -d "${TMPDIR:-/tmp}/jeshim-prove.XXXXXX") || fail "no temporary folder; set TMPDIR to one that can be written"
folder=$(cd -- "$folder" && pwd -P)
trap 'rm -rf -- "$folder"' EXIT
records=$folder/records # what the programs write
own=$folder/own         # what this script writes
mkdir -m 700 "$records" "$own" || fail "cannot write in $folder"
if ((EUID == 0)); then
    # Programs that give root up before they start others (su, sudo -u): those write records too, and read none.
    chmod 711 "$folder"
    chmod 1733 "$records"
fi
insert=$library
if [[ $library == *:* ]]; then # DYLD_INSERT_LIBRARIES parts names at colons.
    insert=$folder/libjeshim.dylib
    ln -s -- "$library" "$insert"
fi

# ---- What the file of a program tells -----------------------------------------------------------------------------------

contains() { LC_ALL=C grep -aqF -e "$2" -- "$1" 2>/dev/null; }

# The architectures in a Mach-O file, each between spaces: " x86_64 arm64e ". Fails for any other file.
architectures() {
    local about words='' word pattern
    about=$(LC_ALL=C file -b "$1" 2>/dev/null)
    [[ $about == *Mach-O* ]] || return 1
    for word in arm64e arm64 x86_64h x86_64 i386; do
        # After a blank, a bracket or an underscore ("executable arm64", "[arm64:Mach-O", "executable_x86_64").
        pattern="(^|[^a-z0-9])$word(\$|[^a-z0-9])"
        [[ $about =~ $pattern ]] && words="$words $word"
    done
    printf '%s ' "$words"
}

# Which of the architectures $1 the system runs: sets architecture.
choose_architecture() {
    local word order='x86_64h x86_64'
    [[ $(uname -m) != arm64 ]] || order='arm64e arm64 x86_64'
    architecture=
    for word in $order; do
        # x86_64h is x86_64 for newer processors, and loads libraries of either.
        if [[ $1 == *" $word "* ]]; then architecture=${word%h}; return 0; fi
    done
    return 1
}

# What the code signature of a file says: sets flags (" runtime library-validation "), team and entitlements (one line).
read_signature() {
    local text pattern
    flags=' ' team='' entitlements=''
    text=$(codesign -d --verbose=4 "$1" 2>&1) || return 1
    pattern='flags=0x[0-9a-f]*\(([a-z,-]*)'
    if [[ $text =~ $pattern ]]; then
        flags=${BASH_REMATCH[1]}
        flags=" ${flags//,/ } "
    fi
    # "not set" when nobody in particular signed it.
    pattern='TeamIdentifier=([A-Z0-9]+)'
    [[ $text =~ $pattern ]] && team=${BASH_REMATCH[1]}
    [[ $text != *'Platform identifier='* ]] || flags="${flags}platform "
    entitlements=$(codesign -d --entitlements - "$1" 2>/dev/null | LC_ALL=C tr -d '\000' | LC_ALL=C tr '\n\t' '  ')
    return 0
}

# Whether an entitlement is there and true: "<key>NAME</key><true/>" or "[Key] NAME [Value] [Bool] true".
is_entitled() {
    local rest=${entitlements#*"$1"}
    [[ $rest != "$entitlements" ]] || return 1
    [[ $rest == *true* ]] || return 1
    # Nothing but the end of the key and the start of its value may stand in between.
    rest=${rest%%true*}
    [[ $rest != *com.apple.* && $rest != *false* ]]
}

sip_is_on() {
    local text
    text=$(csrutil status 2>/dev/null)
    # Unknown counts as on, which it is when nobody has turned it off.
    [[ $text != *disabled* ]]
}

# Whether a file lies where the system protects it. /usr/local is the user's, /System/Volumes where disks are mounted.
is_in_protected_folder() {
    case $1 in
        /usr/local/* | /System/Volumes/*) return 1 ;;
        /bin/* | /sbin/* | /usr/* | /System/*) return 0 ;;
    esac
    return 1
}

# The absolute path of a file, without symbolic links.
real_path() {
    local path=$1 target
    while [[ -L $path ]]; do
        target=$(readlink -- "$path")
        [[ $target == /* ]] || target=$(dirname -- "$path")/$target
        path=$target
    done
    printf '%s/%s\n' "$(cd -- "$(dirname -- "$path")" && pwd -P)" "${path##*/}"
}

# Whether the system will keep the library out of a program: sets cause and remedy, and fatal to 1 when inserting it
# would end the program instead. Succeeds when something is in the way.
foresee() {
    local file about found line words word program_team interpreter="${2:-}"
    file=$(real_path "$1")
    about=$file
    [[ -z $interpreter ]] || about="$interpreter is run by $file, which"
    cause='' remedy='' fatal=0
    if ! found=$(architectures "$file"); then
        # More than two steps are no script's.
        [[ -z $interpreter || $interpreter != *' is run by '* ]] || return 1
        line=$(head -n 1 -- "$file" 2>/dev/null | LC_ALL=C tr -d '\000')
        [[ $line == '#!'* ]] || line='#!/bin/sh'
        read -r interpreter words <<<"${line#'#!'}"
        [[ -x $interpreter ]] || return 1
        foresee "$interpreter" "$about" || return 1
        if [[ ${interpreter##*/} == env ]]; then
            for word in $words; do
                case $word in
                    -* | *=*) ;; # env's own
                    *) remedy="run the interpreter itself: scripts/prove-macos.sh \"\$(command -v $word)\" $1"; break ;;
                esac
            done
        fi
        return 0
    fi
    if [[ -u $file && ! -O $file ]] || [[ -g $file && ! -G $file ]]; then
        cause="$about is a setuid or setgid program of another user: the dynamic linker ignores DYLD_INSERT_LIBRARIES for it"
        remedy="run it as that user, or insert the library into what it starts"
        return 0
    fi
    choose_architecture "$found" || return 1
    if sip_is_on && is_in_protected_folder "$file"; then
        cause="$about is protected by System Integrity Protection: macOS takes DYLD_INSERT_LIBRARIES away from it and from all that it starts"
        remedy="use a build of it from elsewhere (Homebrew, MacPorts, the project's own), which is not protected"
        return 0
    fi
    read_signature "$file"
    if sip_is_on && [[ $flags == *' platform '* ]]; then
        cause="$about is a program of the system's (platform binary): macOS takes DYLD_INSERT_LIBRARIES away from it"
        remedy="use a build of it from elsewhere (Homebrew, MacPorts, the project's own), which is not protected"
        return 0
    fi
    if [[ $flags == *' restrict '* ]] || contains "$file" __RESTRICT; then
        cause="$about asks to be restricted (its signature's flag, or a segment __RESTRICT): the dynamic linker ignores DYLD_INSERT_LIBRARIES for it"
        remedy="use a build of it without that"
        return 0
    fi
    if [[ $flags == *' runtime '* ]] && ! is_entitled com.apple.security.cs.allow-dyld-environment-variables; then
        cause="$about has the hardened runtime without the entitlement com.apple.security.cs.allow-dyld-environment-variables: the dynamic linker ignores DYLD_INSERT_LIBRARIES for it"
        remedy="run a copy that is signed without it: cp \"$file\" /tmp/ && codesign --force --sign - \"/tmp/${file##*/}\""
        return 0
    fi
    # From here on the library would be inserted.
    if [[ $architecture == arm64e ]] && ! [[ $(architectures "$library") == *' arm64e '* ]]; then
        fatal=1
        cause="$about runs as arm64e, and the library is not for that: inserting it would end the program"
        remedy="use a build of it for plain arm64 (Homebrew, MacPorts, the project's own)"
        return 0
    fi
    if ! [[ $(architectures "$library") == *" $architecture "* ]]; then
        fatal=1
        cause="$about runs as $architecture, and the library has$(architectures "$library")only: inserting it would end the program"
        remedy="build the library for it (cargo build --release --target ${architecture/arm64/aarch64}-apple-darwin) and name that with --lib"
        return 0
    fi
    if [[ $flags == *' library-validation '* || $flags == *' runtime '* ]] &&
        ! is_entitled com.apple.security.cs.disable-library-validation; then
        program_team=$team
        read_signature "$library"
        if [[ -z $team || $team != "$program_team" ]]; then
            fatal=1
            cause="$about loads libraries of its own developer only (library validation), and this one is signed by ${team:-nobody in particular}: inserting it would end the program"
            remedy="run a copy that is signed without it: cp \"$file\" /tmp/ && codesign --force --sign - \"/tmp/${file##*/}\""
            return 0
        fi
    fi
    if [[ $architecture == arm64 ]] && ! codesign --verify "$library" 2>/dev/null; then
        fatal=1
        cause="the library's signature is missing or broken, and Apple silicon loads no such library: inserting it would end the program"
        remedy="sign it: codesign --force --sign - \"$library\""
        return 0
    fi
    return 1
}

# The allocator that an executable keeps to itself: sets allocator. What it serves, no malloc zone sees.
has_allocator_inside() {
    allocator=
    contains "$1" '<jemalloc>: ' && allocator=jemalloc
    contains "$1" 'mimalloc: ' && allocator=mimalloc
    contains "$1" 'TCMALLOC_' && allocator=tcmalloc
    contains "$1" 'PartitionAlloc' && allocator=PartitionAlloc
    [[ -n $allocator ]]
}

is_go() { contains "$1" 'Go buildinf:'; }

# ---- Running the program ------------------------------------------------------------------------------------------------

# Passes on the program's standard error; statistics and what the dynamic linker and the library say go to files. To the
# end: no signal that is meant for the program ends this.
pass_on() {
    trap '' HUP INT QUIT TERM
    exec awk -v statistics="$own/statistics" -v linker="$own/linker" -v library="$own/library" '
        /___ Begin jemalloc statistics ___$/ {
            at = match($0, /___ Begin jemalloc statistics ___$/)
            if (at > 1) { print substr($0, 1, at - 1); fflush() }
            $0 = substr($0, at)
            inside = 1
        }
        inside { print > statistics; if (/^--- End jemalloc statistics ---$/) inside = 0; next }
        /^dyld(\[[0-9]+\])?: / { print > linker; fflush(linker) }
        /^jeshim\[/ { print > library; fflush(library) }
        { print; fflush() }
    ' >&2
}

run() {
    local filter tries
    mkfifo "$own/stderr"
    pass_on <"$own/stderr" &
    filter=$!
    # In the foreground, so that terminal and signals are the program's. The inner shell becomes the program.
    {
        (
            # The parent of a shell that this one starts is this one.
            /bin/sh -c 'printf "%s\n" "$PPID"' >"$own/pid"
            export DYLD_INSERT_LIBRARIES=$insert${DYLD_INSERT_LIBRARIES:+:$DYLD_INSERT_LIBRARIES}
            export MALLOC_CONF=${MALLOC_CONF:+$MALLOC_CONF,}stats_print:true,stats_print_opts:gdablxeh
            export JESHIM_REPORT=${records//%/%%}/%p
            exec "$@" 2>"$own/stderr"
        )
    } 2>/dev/null # bash's own "Killed"
    status=$?
    # The last lines; but a process left in the background may hold standard error open for ever.
    for ((tries = 0; tries < 100; tries++)); do
        kill -0 "$filter" 2>/dev/null || break
        sleep 0.02
    done
}

# ---- Reading the evidence -----------------------------------------------------------------------------------------------

# One line a record: pid, rank (a process that called exec has several; the highest is the last), parent, finished,
# program, whether the first zone is jemalloc's and serves, its name, why not, what to do, allocations and bytes of small
# and of large blocks.
read_records() {
    local file
    for file in "$records"/*; do
        # Not what somebody else may have put there, when the folder is open to other users.
        [[ -f $file && ! -L $file ]] || continue
        LC_ALL=C awk -v OFS='\037' -v file="${file##*/}" '
            function value() {
                sub(/^[^:]*: */, ""); sub(/ *,? *$/, ""); gsub(/^"|"$/, ""); gsub(/[[:cntrl:]]/, "?")
                return $0
            }
            /^  "zone": \{/ { zone = 1; next }
            /^  \}/ { zone = 0 }
            zone && /^    "(serves|name|cause|remedy)": / { name = $1; gsub(/[":]/, "", name); is[name] = value(); next }
            /^ *"(pid|parent_pid|finished|program|(small|large)_(allocations|bytes))": / {
                name = $1; gsub(/[":]/, "", name); is[name] = value(); next
            }
            END {
                parts = split(file, part, ".")
                rank = parts == 3 ? part[3] + 1 : parts
                if ("pid" in is)
                    print is["pid"], rank, is["parent_pid"], is["finished"], is["program"], is["serves"], is["name"],
                        is["cause"], is["remedy"], is["small_allocations"] + 0, is["small_bytes"] + 0,
                        is["large_allocations"] + 0, is["large_bytes"] + 0
            }
        ' "$file"
    done
}

# The fields of a record's line as variables.
take() {
    IFS=$'\037' read -r pid _ parent finished program serves zone why what small small_bytes large large_bytes <<<"$1"
    program=${program//\\\"/\"}
    program=${program//\\\\/\\}
}

# "1 small allocation", "6,361 small allocations".
count() {
    local number=$1 three=''
    while ((${#number} > 3)); do
        three=,${number:$((${#number} - 3))}$three
        number=${number:0:$((${#number} - 3))}
    done
    if (($1 == 1)); then printf '1 %s' "$2"; else printf '%s %s' "$number$three" "${3:-${2}s}"; fi
}

# ---- The report ---------------------------------------------------------------------------------------------------------

bold='' green='' red='' yellow='' plain=''
if [[ -t 2 && -z ${NO_COLOR:-} && ${TERM:-dumb} != dumb ]]; then
    bold=$'\033[1m' green=$'\033[1;32m' red=$'\033[1;31m' yellow=$'\033[1;33m' plain=$'\033[0m'
fi

say() { printf '%s\n' "$*" >&2; }

# The last line: EXIT_STATUS and what a person wants to know.
verdict() {
    local word colour=$yellow
    case $1 in
        0) word=SERVED colour=$green ;;
        1) word='NOT SERVED' colour=$red ;;
        2) word='IN PART' ;;
        3) word='COULD NOT TELL' ;;
        *) word='NOT STARTED' colour=$red ;;
    esac
    say "$colour$word$plain: $2"
    exit "$1"
}

show_statistics() {
    local blocks=0
    [[ ! -f $own/statistics ]] || blocks=$(grep -c '___ Begin jemalloc statistics ___$' "$own/statistics")
    say "${bold}Statistics$plain that jemalloc printed at exit (MALLOC_CONF=stats_print:true): $(count "$blocks" block)"
    if ((blocks == 0)); then
        say "  None proves nothing: a program that closes standard error or ends by _exit prints none."
    else
        say "  By themselves they prove little: a jemalloc that is loaded and serves nothing prints them too."
        awk -v most=5 '
            /___ Begin jemalloc statistics/ { blocks++; small = "no figures for small blocks" }
            /^small:/ { small = $7 " requests for small blocks, " $2 " bytes of them still allocated" }
            /^--- End jemalloc statistics/ && blocks <= most { print "    " small }
            END { if (blocks > most) print "    ..." }
        ' "$own/statistics" >&2
    fi
}

show_record() {
    take "$1"
    say "  ${bold}pid $pid$plain (parent $parent) $program"
    say "    loaded  yes"
    if [[ $serves == true ]]; then
        say "    zone    jemalloc's comes first, and owns what malloc gives out"
    else
        say "    zone    \"$zone\" comes first: $why"
    fi
    if [[ $finished == true ]]; then
        say "    served  $(count "$small" "small allocation") ($(count "$small_bytes" byte)), $(count "$large" large large) ($(count "$large_bytes" byte), thread caches included)"
    elif kill -0 "$pid" 2>/dev/null; then
        say "    served  not known yet: it is still running"
    else
        say "    served  not known: it ended by _exit, exec or a signal, so the record is unfinished"
    fi
}

# The program's process first, then the others.
show_records() {
    local line shown=0 all
    all=$(grep -c . "$own/last")
    say "${bold}Records$plain that the library wrote (JESHIM_REPORT): $(count "$all" process processes)"
    [[ -z $asked ]] || show_record "$asked"
    while IFS= read -r line; do
        take "$line"
        [[ $pid != "$asked_pid" ]] || continue
        if ((shown++ < 6)); then show_record "$line"; fi
    done <"$own/last"
    ((shown <= 6)) || say "  and $(count $((shown - 6)) process processes) more"
}

# What stays out of malloc's sight in programs that keep a part to themselves.
show_notes() {
    case $(printf '%s' "${program##*/}" | LC_ALL=C tr '[:upper:]' '[:lower:]') in
        python* | pypy*)
            [[ ${PYTHONMALLOC:-} == malloc* ]] ||
                say "Note: Python keeps objects below 512 bytes to itself; with PYTHONMALLOC=malloc jemalloc serves them too."
            ;;
        node | java) say "Note: the garbage-collected heap comes from the kernel (mmap), not from malloc." ;;
        php*) [[ ${USE_ZEND_ALLOC:-1} == 0 ]] || say "Note: PHP keeps its own allocator; with USE_ZEND_ALLOC=0 jemalloc serves it." ;;
    esac
}

# ---- The verdict --------------------------------------------------------------------------------------------------------

judge_without_record() {
    local message
    message=$(grep -F "jeshim[$asked_pid]: JESHIM_REPORT" "$own/library" 2>/dev/null | head -n 1)
    [[ -z $message ]] || verdict 3 "the library was loaded into $name, but no record could be written: ${message#*]: }"
    if ! foresee "$path"; then
        ((status != 126 && status != 127)) ||
            verdict "$status" "$path could not be executed (message above). Remedy: check what it needs to start: the interpreter in a script's first line, the architecture of a program"
        cause="the library was not loaded into $name, and its file does not show why"
        remedy="look at what DYLD_PRINT_LIBRARIES=1 prints, and at codesign -d --verbose=4 $path"
        message=$(grep -F 'insert' "$own/linker" 2>/dev/null | head -n 1)
        if [[ -n $message ]]; then
            cause="the dynamic linker could not load the library: ${message#dyld*: }"
            remedy="check the library's architecture (file) and signature (codesign --verify)"
        fi
    fi
    ((served_others == 0)) ||
        verdict 2 "$cause. But $(count "$served_others" process processes) that it started had small allocations served. Remedy: $remedy"
    verdict 1 "$cause. Remedy: $remedy"
}

judge_unfinished() {
    local why="it ended by _exit, or replaced itself (exec) by a program that the library does not reach"
    ((status <= 128 || status >= 160)) ||
        why="it was ended by signal $((status - 128)) ($(kill -l $((status - 128)))), or by _exit"
    [[ $serves == true ]] ||
        verdict 1 "malloc of $who does not lead to jemalloc: the zone that comes first is \"$zone\"; $cause_of_zone. Remedy: $remedy_of_zone"
    verdict 3 "the library was loaded into $who and its zone comes first, but the record is unfinished: $why. Remedy: let it end by exit or by returning from main"
}

judge_finished() {
    local served
    served="$(count "$small" "small allocation") of $who"
    if [[ $serves != true ]]; then
        cause="malloc of $who does not lead to jemalloc: the zone that comes first is \"$zone\"; $cause_of_zone"
        ((small == 0)) || verdict 2 "jemalloc served $served, but $cause. Remedy: $remedy_of_zone"
        verdict 1 "$cause. Remedy: $remedy_of_zone"
    fi
    ((small > 0)) ||
        verdict 1 "the library was loaded into $who and its zone comes first, but no small allocation was asked of it: the program does too little, or has an allocator of its own compiled in. Remedy: try it with more work to do, or use a build that takes malloc from the system"
    ! is_go "$program" ||
        verdict 2 "jemalloc served $served, which is a Go program: only its C code calls malloc. Remedy: none by inserting; Go's own settings are GOGC and GOMEMLIMIT"
    ! has_allocator_inside "$program" ||
        verdict 2 "jemalloc served $served, but $allocator is compiled into it, out of sight of malloc zones. Remedy: use a build that takes malloc from the system"
    show_notes
    verdict 0 "jemalloc served $served"
}

name=${1##*/}
path=$(type -P -- "$1")
if [[ -z $path ]]; then
    if [[ -e $1 && $1 == */* ]]; then
        [[ ! -d $1 ]] || verdict 126 "$1 is a directory. Remedy: name a program"
        verdict 126 "$1 is not executable. Remedy: chmod +x it, or name the program that runs it first"
    elif [[ $(type -t -- "$1") == builtin ]]; then
        verdict 127 "$1 is a command of the shell, not a program. Remedy: prove a shell that is not protected, bash -c '$1 ...'"
    fi
    verdict 127 "$1 is not found. Remedy: look at the spelling and at PATH, or give the whole path"
fi

if foresee "$path"; then
    ((!fatal)) || verdict 1 "not run: $cause. Remedy: $remedy"
    # Run nevertheless: the record, not this script's opinion, is the proof.
    say "${yellow}Expected not to be served$plain: $cause."
fi
# A script without a first line "#!" is the shell's to run.
if ! architectures "$path" >/dev/null && [[ $(head -c 2 -- "$path" 2>/dev/null | LC_ALL=C tr -d '\000') != '#!' ]]; then
    set -- /bin/sh "$path" ${2+"${@:2}"}
fi

trap : INT TERM # The program gets them too; what it had done by then is judged.
status=0
run "$@"
read -r asked_pid <"$own/pid"
say
ended="ended with status $status"
((status <= 128 || status >= 160)) || ended="$ended: signal $(kill -l $((status - 128)))"
say "${bold}$name$plain (pid $asked_pid) $ended"

# Of each process the last record, one a line, by pid.
read_records | sort -t $'\037' -k 1,1n -k 2,2n |
    awk -F '\037' '$1 != pid && NR > 1 { print line } { pid = $1; line = $0 } END { if (NR) print line }' >"$own/last"
served_others=0 asked=''
while IFS= read -r line; do
    take "$line"
    if [[ $pid == "$asked_pid" ]]; then
        asked=$line
    elif [[ $finished == true && $serves == true ]] && ((small > 0)); then
        ((served_others++))
    fi
done <"$own/last"

show_statistics
show_records
[[ -n $asked ]] || judge_without_record
take "$asked"
cause_of_zone=$why remedy_of_zone=$what
who="$name (pid $pid)"
[[ $program == "$(real_path "$path")" || ${program##*/} == "$name" ]] || who="${program##*/} (pid $pid, started as $name)"
if [[ $finished == true ]]; then judge_finished; else judge_unfinished; fi
