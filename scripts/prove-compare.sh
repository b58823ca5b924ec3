#!/usr/bin/env bash
# Shows that `jeshim compare` can be trusted: it finds no difference where there is none, finds what is planted, and its
# figures are those of /usr/bin/time and hyperfine. The last long run's figures are in docs/compare-proof.md.
set -euo pipefail

usage() {
    cat <<'TEXT'
usage: scripts/prove-compare.sh [--short] [--out FILE]

  --short     a fifth of the runs: some minutes instead of a quarter of an hour
  --out FILE  write the report to FILE as well, for example docs/compare-proof.md

Needs hyperfine and GNU time; installs them as root, and says what to type otherwise.
Exit status: 0 everything was shown, 1 something was not, 125 it could not do its work.
TEXT
}

say() { printf 'prove-compare: %s\n' "$*" >&2; }
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
built=${CARGO_TARGET_DIR:-$root/target}/release
command_line="scripts/prove-compare.sh${*:+ $*}"
times=20 out=''
while (($#)); do
    case $1 in
        --short) times=4 ;;
        --out)
            (($# > 1)) || { usage >&2; exit 125; }
            out=$(realpath -m -- "$2")
            shift
            ;;
        -h | --help) usage; exit 0 ;;
        *) usage >&2; say "unknown argument $1"; exit 125 ;;
    esac
    shift
done

cd "$root"
scripts/install-missing.sh gcc python3 hyperfine time >&2
cargo build --release --locked --quiet --package jeshim --package jeshim-cli || exit 125
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
cc -O2 -o "$work/planted" cli/tests/fixtures/compare_planted.c

# compare NAME OPTION...: a comparison of `planted` as JSON; progress on standard error.
compare() {
    local name=$1
    shift
    say "$name"
    "$built/jeshim" compare --quiet --json="$work/$name.json" --no-requested "$@" -- "$work/planted" >/dev/null
}

series() {
    local name=$1 count=$2
    shift 2
    for ((i = 1; i <= count; i++)); do compare "$name-$i" "$@"; done
}

planted=$(((times + 1) / 2))
series null "$times" --with a=system --with b=system --budget 15s
few=$(((times + 3) / 4))
series slower "$few" --with a=system --with b=system,SLOWER=3 --budget 90s
series larger "$planted" --with a=system --with b=system,LARGER=5 --rounds 10

say "the same command under /usr/bin/time, hyperfine and compare, in turns"
for ((i = 1; i <= planted; i++)); do
    MILLISECONDS=400 /usr/bin/time -f '%e %U %S %M' -o "$work/time-$i.txt" "$work/planted" >/dev/null
    MILLISECONDS=400 hyperfine -N --style none --warmup 1 --runs 5 --export-json "$work/hyperfine-$i.json" "$work/planted" 2>/dev/null
    "$built/jeshim" compare --quiet --json="$work/agree-$i.json" --rounds 5 --with a=system,MILLISECONDS=400 --with b=system,MILLISECONDS=400 -- "$work/planted" >/dev/null
done

say "what sampling costs"
for ((i = 1; i <= planted; i++)); do
    for every in 0 10ms; do
        "$built/jeshim" compare --quiet --json="$work/sample-$every-$i.json" --sample "$every" --rounds 3 \
            --with a=system,MILLISECONDS=1000 --with b=system,MILLISECONDS=1000 -- "$work/planted" >/dev/null
    done
done

python3 - "$work" "$times" "$planted" "$few" "$command_line" "${out:-}" <<'PYTHON'
import datetime, glob, json, os, platform, statistics as st, sys

work, times, planted, few, command, out = sys.argv[1], *map(int, sys.argv[2:5]), *sys.argv[5:7]
read = lambda name: json.load(open(os.path.join(work, name)))
lines, failed = [], []

def cells(result, figure):
    """(index of the participant, ratio) of a figure, of all participants but the baseline."""
    index = [f["id"] for f in result["figures"]].index(figure)
    for row in result["analysis"]["rows"]:
        if row["figure"] == index:
            return [c["ratio"] for c in row["cells"] if c and c["ratio"]]
    return []

def check(text, good):
    lines.append(f"| {text} | {'yes' if good else '**no**'} |")
    if not good:
        failed.append(text)

HEADLINES = ["wall", "cpu", "peak_rss"]
null = [read(f"null-{i}.json") for i in range(1, times + 1)]
verdicts = [{f: cells(r, f)[0]["verdict"] for f in HEADLINES} for r in null]
wrong = [v for v in verdicts if set(v.values()) & {"better", "worse"}]
quiet = [v for v in verdicts if all(x == "no_difference" for x in v.values())]
rounds = [max(run["round"] for run in r["runs"]) + 1 for r in null]
check(f"the same allocator twice: a difference in wall time, CPU time or peak RSS claimed in {len(wrong)} of {times} comparisons"
      f" ({len(quiet)} said \"no difference seen\" for all three; {min(rounds)} to {max(rounds)} rounds)", len(wrong) <= max(1, times // 20))
for name, figure, label, factor, count in [("slower", "cpu", "3% more work: CPU time", 1.03, few), ("larger", "peak_rss", "5% more memory: peak RSS", 1.05, planted)]:
    ratios = [cells(read(f"{name}-{i}.json"), figure)[0] for i in range(1, count + 1)]
    seen = [r for r in ratios if r["verdict"] == "worse"]
    median = st.median(r["median"] for r in ratios)
    rounds = [r["rounds"] for r in ratios]
    check(f"{label}: found in {len(seen)} of {count}; median ratio {median:.4f} ({min(rounds)} to {max(rounds)} rounds)", len(seen) >= count * 0.9 and abs(median - factor) < 0.015)

value = lambda result, figure: st.median(run["figures"][figure] for run in result["runs"])
agree = [read(f"agree-{i}.json") for i in range(1, planted + 1)]
hyper = [read(f"hyperfine-{i}.json")["results"][0] for i in range(1, planted + 1)]
gnu = [[float(x) for x in open(os.path.join(work, f"time-{i}.txt")).read().split()] for i in range(1, planted + 1)]
ratio = lambda ours, theirs: st.median(a / b for a, b in zip(ours, theirs))
wall = ratio([value(r, "wall") for r in agree], [h["median"] for h in hyper])
cpu = ratio([value(r, "cpu") for r in agree], [h["user"] + h["system"] for h in hyper])
peak = ratio([value(r, "peak_rss") for r in agree], [g[3] * 1024 for g in gnu])
check(f"wall time against hyperfine: {wall:.4f}", abs(wall - 1) < 0.01)
check(f"CPU time against hyperfine: {cpu:.4f}", abs(cpu - 1) < 0.01)
check(f"peak RSS against /usr/bin/time: {peak:.4f}", abs(peak - 1) < 0.01)
with_, without = ([value(read(f"sample-{e}-{i}.json"), "cpu") for i in range(1, planted + 1)] for e in ("10ms", "0"))
cost = ratio(with_, without)
check(f"CPU time of the program with sampling every 10 ms, as a share of that without: {cost:.4f}", cost < 1.01)

machine = null[0]["machine"]
report = f"""# `jeshim compare` on trial

`{command}`, {datetime.date.today()}, {machine['processors']} processors ({machine['processor']}), {machine['system']}.
The program does counted work ([its source](../cli/tests/fixtures/compare_planted.c)), so that what is planted is known.

| what | shown |
|---|---|
""" + "\n".join(lines) + "\n"
print(report)
if out:
    open(out, "w").write(report)
sys.exit(1 if failed else 0)
PYTHON
