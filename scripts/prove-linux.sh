#!/usr/bin/env bash
# Shows whether jemalloc serves a program: runs it once with libjeshim.so preloaded and reads two kinds of evidence, the
# statistics that jemalloc prints at exit and the proof records that the library writes (JESHIM_REPORT).
set -uo pipefail

usage() {
    cat <<'TEXT'
usage: scripts/prove-linux.sh [--lib PATH] PROGRAM [ARGUMENT...]

Runs PROGRAM once with libjeshim.so preloaded, then shows what jemalloc served to it and to the programs it started.
The last line is the verdict. The report goes to standard error; standard output is PROGRAM's alone. PROGRAM's standard
error is passed on line by line, without jemalloc's statistics. A server is ended with Ctrl-C, and then judged.

  --lib PATH  the library; without it, target/release/libjeshim.so of this project
  --help      this text

Exit status:
  0    SERVED          jemalloc served small allocations of PROGRAM, whose malloc is jemalloc's
  1    NOT SERVED      it did not; the verdict names cause and remedy
  2    IN PART         PROGRAM has an allocator of its own as well, or only programs that it started were served
  3    COULD NOT TELL  the library was loaded, but PROGRAM ended before its record could be finished
  125                  this script could not do its work
  126, 127             NOT STARTED: PROGRAM cannot be executed, is not found
PROGRAM's own exit status is shown, not returned.

example: scripts/prove-linux.sh python3 -c 'print(sum(range(10)))'
several: for program in ls cat git; do scripts/prove-linux.sh "$program" --version; done

NO_COLOR=1 turns colours off. MALLOC_CONF and LD_PRELOAD of the caller are kept and added to.
TEXT
}

fail() {
    printf 'prove-linux: %s\n' "$*" >&2
    exit 125
}

# ---- Arguments, the library, a private folder ---------------------------------------------------------------------------

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
library=${CARGO_TARGET_DIR:-$root/target}/release/libjeshim.so
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
(($#)) || fail "no program given; for example: scripts/prove-linux.sh python3 -c 'print(1)' (--help says more)"
[[ -f $library ]] || fail "no library at $library; $remedy_library"
[[ -r $library ]] || fail "this user may not read $library; change its mode, or name another with --lib PATH"
grep -aqF JESHIM_REPORT -- "$library" || fail "$library is not libjeshim.so; $remedy_library"
library=$(readlink -f -- "$library")

parent_folder=${TMPDIR:-/tmp}
[[ $parent_folder != *[[:space:]:]* ]] || parent_folder=/tmp # LD_PRELOAD parts names at spaces and colons.
folder=$(mktemp -d "$parent_folder/jeshim-prove.XXXXXX") || fail "no temporary folder; set TMPDIR to one that can be written"
# A child that is ended just after it was forked still has this trap, and must not act on it.
trap '[[ $BASHPID != "$$" ]] || rm -rf -- "$folder"' EXIT
records=$folder/records # what the programs write
own=$folder/own         # what this script writes
mkdir "$records" || fail "cannot write in $folder"
mkdir -m 700 "$own"
if ((EUID == 0)); then
    # Programs that give root up before they start others (su, setpriv, gosu): those write records too, and read none.
    chmod 711 "$folder"
    chmod 1733 "$records"
fi
preload=$library
if [[ $library == *[[:space:]:]* ]]; then
    preload=$folder/libjeshim.so
    ln -s -- "$library" "$preload"
fi

# ---- Running the program ------------------------------------------------------------------------------------------------

# Passes on the program's standard error; statistics and what loaders and library say go to files. Line by line, and to
# the end: no signal that is meant for the program ends this.
begin='___ Begin jemalloc statistics ___$'
end='^--- End jemalloc statistics ---$'
pass_on() {
    trap '' HUP INT QUIT TERM
    exec sed -u \
        -e "/.$begin/{s/$begin/\\n&/;P;D}" \
        -e "/^$begin/,/$end/{w $own/statistics" -e 'd' -e '}' \
        -e "/^ERROR: ld\\.so: object/w $own/linker" \
        -e "/^jeshim\\[/w $own/library" >&2
}

# Notes the executable of the process asked for when it is seen twice without the library that it once had: it has
# replaced itself (exec) by a program that the library does not reach, which leaves no other trace.
watch() {
    local pid maps now before='' noted=''
    until [[ -s $own/pid ]]; do
        [[ -d $own ]] || return
        sleep 0.05
    done
    read -r pid <"$own/pid"
    until [[ -e $records/$pid ]]; do
        [[ -e /proc/$pid ]] || return
        sleep 0.05
    done
    while [[ -e /proc/$pid ]]; do
        # Empty in the middle of an exec, and at the end.
        if mapfile -t maps <"/proc/$pid/maps" && ((${#maps[@]})); then
            now=
            [[ ${maps[*]} == *" $library"* ]] || now=$(readlink "/proc/$pid/exe")
            # Written once: this may be ended at any moment.
            if [[ $now == "$before" && $now != "$noted" ]]; then
                printf '%s\n' "$now" >"$own/replaced-by"
                noted=$now
            fi
            before=$now
        fi
        sleep 0.1
    done
}

run() {
    local filter watcher program_stderr
    exec {program_stderr}> >(pass_on)
    filter=$!
    watch >/dev/null 2>&1 &
    watcher=$!
    # In the foreground, so that terminal and signals are the program's. The inner shell becomes the program.
    {
        (
            printf '%s\n' "$BASHPID" >"$own/pid"
            export LD_PRELOAD=$preload${LD_PRELOAD:+:$LD_PRELOAD}
            export MALLOC_CONF=${MALLOC_CONF:+$MALLOC_CONF,}stats_print:true,stats_print_opts:gdablxeh
            export JESHIM_REPORT=${records//%/%%}/%p
            exec 2>&"$program_stderr" {program_stderr}>&-
            exec "$@"
        )
    } 2>/dev/null # bash's own "Killed"
    status=$?
    exec {program_stderr}>&-
    { kill "$watcher" && wait "$watcher"; } 2>/dev/null
    # The last lines; but a process left in the background may hold standard error open for ever.
    for ((tries = 0; tries < 100; tries++)); do
        kill -0 "$filter" 2>/dev/null || break
        sleep 0.02
    done
}

# ---- Reading the evidence -----------------------------------------------------------------------------------------------

# One line a record: file, pid, parent, finished, program, ours, of, core (1 when the six names on which everything rests
# are the library's), whose malloc is used, allocations and bytes of small and of large blocks, names that others define.
read_records() {
    local file files=()
    for file in "$records"/*; do
        # Not what somebody else may have put there, when the folder is open to other users.
        if [[ -f $file && ! -L $file ]]; then files+=("$file"); fi
    done
    ((${#files[@]})) || return 0
    LC_ALL=C awk -v OFS='\037' '
        function value() {
            sub(/^[^:]*: */, ""); sub(/ *,? *$/, ""); gsub(/^"|"$/, ""); gsub(/[[:cntrl:]]/, "?")
            return $0
        }
        function write_out(  path, others) {
            for (path in names) others = others "; " path ": " substr(names[path], 3)
            if (("pid" in is) && ("of" in is))
                print file, is["pid"], is["parent_pid"], is["finished"], is["program"], is["ours"], is["of"],
                    core == 6, is["malloc"], is["small_allocations"] + 0, is["small_bytes"] + 0, is["large_allocations"] + 0,
                    is["large_bytes"] + 0, substr(others, 3)
            split("", is); split("", names); core = 0
        }
        FNR == 1 { if (file != "") write_out(); file = FILENAME; sub(/.*\//, "", file) }
        /^ *"(pid|parent_pid|finished|program|ours|of|(small|large)_(allocations|bytes))": / {
            name = $1; gsub(/[":]/, "", name); is[name] = value(); next
        }
        /^ *"(malloc|calloc|realloc|free|posix_memalign|aligned_alloc)": true/ { core++ }
        /^ *"malloc": / { line = $0; is["malloc"] = value(); $0 = line }
        /^    "names": \{/ { bound = 1; next }
        /^    \}/ { bound = 0 }
        bound && /": "/ { name = $1; gsub(/[":]/, "", name); path = value(); names[path] = names[path] ", " name }
        END { if (file != "") write_out() }
    ' "${files[@]}"
}

# The fields of a record's line as variables.
take() {
    IFS=$'\037' read -r _ pid parent finished program ours of core owner small small_bytes large large_bytes others <<<"$1"
    program=${program//\\\"/\"}
    program=${program//\\\\/\\}
}

# "1 small allocation", "6,361 small allocations".
count() {
    local number=$1
    while [[ $number =~ ^([0-9]+)([0-9]{3})(.*)$ ]]; do
        number=${BASH_REMATCH[1]},${BASH_REMATCH[2]}${BASH_REMATCH[3]}
    done
    if (($1 == 1)); then printf '1 %s' "$2"; else printf '%s %s' "$number" "${3:-${2}s}"; fi
}

# ---- What the file of a program tells -----------------------------------------------------------------------------------

# The header of an ELF file: elf_class (1: 32-bit, 2: 64-bit), elf_machine, elf_interpreter (empty for a static program).
read_elf() {
    local -a header entry
    local table size entries
    number() { # at OFFSET, of LENGTH bytes
        local step at value=0
        for ((step = 0; step < $2; step++)); do
            # The most significant byte is the last one, or the first one in a big-endian file (2).
            if ((header[5] == 2)); then at=$(($1 + step)); else at=$(($1 + $2 - 1 - step)); fi
            value=$((value * 256 + header[at]))
        done
        printf '%d' "$value"
    }
    read -ra header < <(od -An -v -tu1 -w64 -N64 -- "$1" 2>/dev/null)
    [[ ${header[*]:0:4} == "127 69 76 70" ]] || return 1
    elf_class=${header[4]}
    elf_machine=$(number 18 2)
    elf_interpreter=
    if ((elf_class == 2)); then
        table=$(number 32 8) size=$(number 54 2) entries=$(number 56 2)
    else
        table=$(number 28 4) size=$(number 42 2) entries=$(number 44 2)
    fi
    ((size > 0 && entries > 0)) || return 0
    while read -ra entry; do
        ((entry[0] == 3)) || continue # PT_INTERP
        if ((elf_class == 2)); then entry=(0 "${entry[2]}" 0 0 "${entry[8]}"); fi
        elf_interpreter=$(tail -c "+$((entry[1] + 1))" -- "$1" | head -c "$((entry[4] - 1))")
    done < <(od -An -v -tu4 -w"$size" -j"$table" -N"$((size * entries))" -- "$1")
}

# The names that an ELF file of this machine's kind takes from libraries or gives to them, one a line.
dynamic_names() {
    local -a header entry
    local wide=0 at
    read -ra header < <(od -An -v -tu1 -w64 -N64 -- "$1")
    ((header[4] == 2)) && wide=1
    at=$(od -An -v -tu$((wide ? 8 : 4)) -j$((wide ? 40 : 32)) -N$((wide ? 8 : 4)) -- "$1")
    read -ra header < <(od -An -v -tu2 -j$((wide ? 58 : 46)) -N4 -- "$1") # size and number of section headers
    ((at > 0 && header[0] > 0)) || return 1
    while read -ra entry; do
        if ((wide)); then entry=("${entry[@]:0:3}" 0 "${entry[6]}" "${entry[8]}"); fi
        # SHT_STRTAB that is loaded (SHF_ALLOC): .dynstr
        ((entry[1] == 3 && (entry[2] & 2))) || continue
        tail -c "+$((entry[4] + 1))" -- "$1" | head -c "${entry[5]}" | tr '\0' '\n'
        return 0
    done < <(od -An -v -tu4 -w"${header[0]}" -j"$((at))" -N"$((header[0] * header[1]))" -- "$1")
    return 1
}

contains() { LC_ALL=C grep -aqF -e "$2" -- "$1" 2>/dev/null; }

is_go() { contains "$1" 'Go buildinf:'; }

# The allocator that an executable keeps to itself: sets allocator. What it serves, no preloaded library can see.
has_allocator_inside() {
    local names
    allocator=
    contains "$1" '<jemalloc>: ' && allocator=jemalloc
    contains "$1" 'mimalloc: ' && allocator=mimalloc
    contains "$1" 'TCMALLOC_' && allocator=tcmalloc
    contains "$1" 'PartitionAlloc' && allocator=PartitionAlloc
    [[ -z $allocator ]] || return 0
    # No name of malloc's family is taken from a library (a linker may store a name as the tail of a longer one), but
    # one that gets memory from the kernel.
    ((small < 100)) && names=$(dynamic_names "$1") || return 1
    ! grep -qE '(alloc|memalign|strn?dup|getline|printf|^_Zn[wa][jmy].*)$' <<<"$names" &&
        grep -qE '^(mmap(64)?|s?brk|syscall)$' <<<"$names" && allocator="an allocator"
}

# Why a program that was started with the library preloaded does not have it: sets cause and remedy. SCRIPT is what the
# program interprets.
explain() { # FILE [SCRIPT]
    local file=$1 script=${2:-} about=$1 line
    [[ -z $script ]] || about="$script is run by $file, which"
    if [[ -u $file && ! -O $file ]] || [[ -g $file && ! -G $file ]]; then
        cause="$about is a setuid or setgid program of another user ($(stat -c %U:%G -- "$file")): the dynamic linker ignores LD_PRELOAD for it"
        remedy="run it as that user, or set LD_PRELOAD for what it starts"
    elif ((EUID != 0)) && PATH=$PATH:/usr/sbin:/sbin getcap -- "$file" 2>/dev/null | grep -q .; then
        cause="$about has file capabilities: the dynamic linker ignores LD_PRELOAD for it"
        remedy="run it as root, or run a copy (cp leaves the capabilities behind)"
    elif read_elf "$file"; then
        read -r _ library_class library_machine < <(read_elf "$library" && echo . "$elf_class" "$elf_machine")
        if [[ -z $elf_interpreter ]] && is_go "$file"; then
            cause="$about is a static Go program: the dynamic linker never runs, and Go calls no malloc"
            remedy="none by preloading; Go's own settings are GOGC and GOMEMLIMIT"
        elif [[ -z $elf_interpreter ]]; then
            cause="$about is a static program: the dynamic linker never runs, so nothing can be preloaded"
            remedy="use a dynamically linked build of it, or link jemalloc into it when it is built"
        elif [[ $elf_class != "$library_class" ]]; then
            cause="$about is a $((elf_class * 32))-bit program, and the library is for $((library_class * 32))-bit ones"
            remedy="build the library for its architecture (cargo build --release --target ...) and name that with --lib"
        elif [[ $elf_machine != "$library_machine" ]]; then
            cause="$about is for another processor (ELF machine $elf_machine) than the library ($library_machine)"
            remedy="build the library for its architecture (cargo build --release --target ...) and name that with --lib"
        elif [[ $elf_interpreter == *ld-musl* ]]; then
            cause="$about is a program for musl, whose loader cannot load a library for glibc and refuses to start the program with it"
            remedy="use a build of it for glibc, or build the library for musl"
        else
            return 1
        fi
    elif [[ -z $script ]] && IFS= read -r line <"$file" && [[ $line =~ ^'#!'[[:blank:]]*([^[:blank:]]+) ]]; then
        explain "${BASH_REMATCH[1]}" "$file"
    else
        return 1
    fi 2>/dev/null
}

# The same, as the dynamic linker itself said it.
explain_by_linker() {
    local message
    message=$(head -n 1 "$own/linker" 2>/dev/null)
    [[ -n $message ]] || return 1
    message=${message#ERROR: ld.so: }
    cause="the dynamic linker could not load the library: ${message%.}"
    remedy="copy the library to a folder that the program's user may read, and name it with --lib"
}

# ---- The report ---------------------------------------------------------------------------------------------------------

bold='' green='' red='' yellow='' plain=''
if [[ -t 2 && -z ${NO_COLOR:-} && ${TERM:-dumb} != dumb ]]; then
    bold=$'\e[1m' green=$'\e[1;32m' red=$'\e[1;31m' yellow=$'\e[1;33m' plain=$'\e[0m'
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
    [[ ! -f $own/statistics ]] || blocks=$(grep -c "$begin" "$own/statistics")
    say "${bold}Statistics$plain that jemalloc printed at exit (MALLOC_CONF=stats_print:true): $(count "$blocks" block)"
    if ((blocks == 0)); then
        say "  None proves nothing: a program that closes standard error (ls, cat) or ends by _exit prints none."
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
    say "    bound   $ours of $of names to the library${others:+; others to $others}"
    if [[ $finished == true ]]; then
        say "    served  $(count "$small" "small allocation") ($(count "$small_bytes" byte)), $(count "$large" large large) ($(count "$large_bytes" byte), thread caches included)"
    elif kill -0 "$pid" 2>/dev/null; then
        say "    served  not known yet: it is still running"
    else
        say "    served  not known: it ended by _exit, exec or a signal, so the record is unfinished"
    fi
}

# The program's process first, then the others: of each the last record, since a process may become another program.
show_records() {
    local file shown=0
    say "${bold}Records$plain that the library wrote (JESHIM_REPORT): $(count "${#last[@]}" process processes)"
    [[ -z $asked ]] || show_record "$asked"
    while read -r file; do
        [[ -n $file && $file != "$asked_pid" ]] || continue
        if ((shown++ < 6)); then show_record "${last[$file]}"; fi
    done < <(printf '%s\n' "${!last[@]}" | sort -n)
    ((shown <= 6)) || say "  and $(count $((shown - 6)) process processes) more"
}

# What a preloaded library does not see in programs that keep a part to themselves.
show_notes() {
    case ${program##*/} in
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
    if ! explain "$path" && ! explain_by_linker; then
        ((status != 126 && status != 127)) ||
            verdict "$status" "$path could not be executed (message above). Remedy: check what it needs to start: the interpreter in a script's first line, the dynamic linker of a program"
        cause="the library was not loaded into $name, and its file does not show why: the system may run it in secure mode (file capabilities, a security module)"
        remedy="look at what LD_DEBUG=libs prints"
    fi
    ((served_others == 0)) ||
        verdict 2 "$cause. But $(count "$served_others" process processes) that it started had small allocations served. Remedy: $remedy"
    verdict 1 "$cause. Remedy: $remedy"
}

judge_unfinished() {
    local replaced_by='' why
    [[ ! -f $own/replaced-by ]] || replaced_by=$(<"$own/replaced-by")
    replaced_by=${replaced_by% (deleted)}
    if [[ -n $replaced_by ]]; then
        if ! explain "$replaced_by" && ! explain_by_linker; then
            cause="its environment had lost LD_PRELOAD"
            remedy="set LD_PRELOAD where $replaced_by is started (env -i, su -, sudo and service managers clear it)"
        fi
        verdict 1 "$who became $replaced_by (exec), without the library: $cause. Remedy: $remedy"
    fi
    ! is_go "$program" ||
        verdict 1 "$who is a Go program: its memory comes from the kernel, not from malloc. Only C code in it would be served, and Go runs no exit handlers that would count it. Remedy: none by preloading; Go's own settings are GOGC and GOMEMLIMIT"
    why="it ended by _exit, or replaced itself (exec) by a program that the library does not reach (environment cleared, static, setuid)"
    if ((status > 128 && status < 193)); then
        why="it was ended by signal $((status - 128)) ($(kill -l $((status - 128)))), or by _exit"
    fi
    verdict 3 "the library was loaded into $who, $ours of $of names bound, but the record is unfinished: $why. Remedy: let it end by exit or by returning from main"
}

judge_finished() {
    local served
    served="$(count "$small" "small allocation") of $who"
    if ((!core)); then
        cause="malloc of $who is that of $owner"
        [[ $owner != "$program" ]] || cause="$who has a malloc of its own in its executable"
        [[ $owner != true ]] || cause="$who has a part of malloc's family elsewhere: $others"
        remedy="use a build that takes malloc from libc: an allocator in the executable comes before a preloaded one"
        ((small == 0)) || verdict 2 "jemalloc served $served, but $cause. Remedy: $remedy"
        verdict 1 "$cause. Remedy: $remedy"
    fi
    ((small > 0)) ||
        verdict 1 "the library was loaded into $who and all its names bound, but no small allocation was asked of it: the program does too little, or has an allocator of its own compiled in. Remedy: try it with more work to do, or use a build that takes malloc from libc"
    ! is_go "$program" ||
        verdict 2 "jemalloc served $served, which is a Go program: only its C code calls malloc. Remedy: none by preloading; Go's own settings are GOGC and GOMEMLIMIT"
    ! has_allocator_inside "$program" ||
        verdict 2 "jemalloc served $served, but $allocator is compiled into it, out of a preloaded library's sight. Remedy: use a build that takes malloc from libc"
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
        verdict 127 "$1 is a command of the shell, not a program. Remedy: prove the shell, bash -c '$1 ...'"
    fi
    verdict 127 "$1 is not found. Remedy: look at the spelling and at PATH, or give the whole path"
fi
# A script without a first line "#!" is the shell's to run.
if ! read_elf "$path" && [[ $(head -c 2 -- "$path" 2>/dev/null | tr -d '\0') != '#!' ]]; then
    set -- /bin/sh "$path" "${@:2}"
fi

trap : INT TERM # The program gets them too; what it had done by then is judged.
status=0
run "$@"
read -r asked_pid <"$own/pid"
say
say "${bold}$name$plain (pid $asked_pid) ended with status $status$( ((status > 128 && status < 193)) && printf ': signal %s' "$(kill -l $((status - 128)))")"

# The last record of each process, by pid; "123", "123.123", "123.123.2" are one process, which called exec.
declare -A last=() rank=()
while IFS= read -r line; do
    file=${line%%$'\037'*}
    take "$line"
    suffix=${file#"$pid"}
    case $suffix in '') order=1 ;; ".$pid") order=2 ;; *) order=$((${file##*.} + 1)) ;; esac
    ((order > ${rank[$pid]:-0})) && rank[$pid]=$order last[$pid]=$line
done < <(read_records)
served_others=0
for pid in "${!last[@]}"; do
    take "${last[$pid]}"
    if [[ $pid != "$asked_pid" && $finished == true ]] && ((core && small > 0)); then ((served_others++)); fi
done
asked=${last[$asked_pid]:-}

show_statistics
show_records
[[ -n $asked ]] || judge_without_record
take "$asked"
who="$name (pid $pid)"
[[ $program == "$(readlink -f -- "$path")" || ${program##*/} == "$name" ]] || who="${program##*/} (pid $pid, started as $name)"
if [[ $finished == true ]]; then judge_finished; else judge_unfinished; fi
