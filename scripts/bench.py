"""The measuring part of scripts/bench.sh, which builds what this runs: start it from there.

Instructions are counted by callgrind in the loop alone, as the difference of two runs, so that start-up and the first turn
cancel out. Times are taken in rounds, every allocator once a round in an order that rotates, and compared within the round: the result is the
median of the rounds' ratios, and a busy machine disturbs both sides of a ratio alike. Upstream's library takes part
twice: what its two ratios differ by is what this run cannot tell apart.
"""

import argparse
import concurrent.futures
import datetime
import math
import os
import pathlib
import platform
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time

SIZES = (16, 64, 200, 1024)
PARTS = ("instructions", "free-only", "load", "wall", "size")
# Fewer rounds than this say nothing about how far the median may be off, so no interval is given.
ROUNDS_FOR_INTERVAL = 6
ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "workloads" / "programs"

# Nothing of the caller's environment that could change what a program allocates reaches it.
ENVIRONMENT = {
    "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "PERL_HASH_SEED": "0",
    "PYTHONHASHSEED": "0",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_PAGER": "cat",
}


class Failure(Exception):
    """Something that makes the whole measurement worthless; its text is what the user reads."""


# --- progress and running -------------------------------------------------------------------------------------------


class Progress:
    """A line on standard error: in place on a terminal, now and then elsewhere."""

    def __init__(self, name, total):
        self.name, self.total, self.done = name, total, 0
        self.start = self.last = time.monotonic()
        self.terminal = sys.stderr.isatty()

    def step(self):
        self.done += 1
        now = time.monotonic()
        finished = self.done == self.total
        if not finished and now - self.last < (0.2 if self.terminal else 15):
            return
        self.last = now
        left = (now - self.start) / self.done * (self.total - self.done)
        text = f"bench: {self.name}: {self.done} of {self.total}, {left:.0f} s left"
        if finished:
            text = f"bench: {self.name}: {self.total} done in {now - self.start:.0f} s"
        print(f"\r{text}\x1b[K" if self.terminal else text, end="\n" if finished or not self.terminal else "", file=sys.stderr, flush=True)


def run(command, preload="", environment=None, cwd=None):
    """Runs a command to its end under a preload library; its output, or a Failure that says which command it was."""
    env = dict(ENVIRONMENT, **(environment or {}))
    if preload:
        env["LD_PRELOAD"] = preload
    result = subprocess.run(command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if result.returncode != 0:
        raise Failure(
            f"exit status {result.returncode} from: {' '.join(map(str, command))}"
            + (f"\n  under {preload}" if preload else "")
            + "".join(f"\n  {line}" for line in result.stderr.splitlines()[-5:])
        )
    return result


# --- statistics -----------------------------------------------------------------------------------------------------


class Estimate:
    """The median of a list of values, and the 95% interval of that median by bootstrap."""

    def __init__(self, values):
        self.median = statistics.median(values)
        self.low = self.high = None
        if len(values) >= ROUNDS_FOR_INTERVAL:
            draw = random.Random(1)  # the same values give the same report
            medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(2000))
            self.low, self.high = medians[50], medians[1949]

    def text(self, digits=3):
        text = f"{self.median:.{digits}f}"
        return text if self.low is None else f"{text} ({self.low:.{digits}f} to {self.high:.{digits}f})"

    def at_most(self, limit):
        high = self.median if self.high is None else self.high
        low = self.median if self.low is None else self.low
        if high <= limit:
            return "reached"
        return "missed" if low > limit else "not clear: the interval spans the limit"


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


# --- instructions ---------------------------------------------------------------------------------------------------


def collected(command, preload, environment=None):
    """Instructions in the loop of one run under callgrind; the program must say that its malloc is the preload library's."""
    options = ["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=turns_*"]
    result = run(["valgrind", *options, *command], preload, environment)
    count = re.search(r"Collected : (\d+)", result.stderr)
    origin = re.search(r"^(?:malloc|new): (.*)$", result.stdout, re.MULTILINE)
    if not count or not origin:
        raise Failure(f"callgrind gave no count for: {' '.join(map(str, command))}")
    if preload and os.path.realpath(origin[1]) != os.path.realpath(preload):
        raise Failure(f"{preload} was preloaded, but the function that was called is {origin[1]}'s: nothing to count")
    return int(count[1])


def per_turn(command, preload, turns, environment=None):
    """Instructions of one turn for each but the first number of turns: what so many took more than the first."""
    counts = [collected([*command, str(number)], preload, environment) for number in turns]
    return [(count - counts[0]) / (number - turns[0]) for count, number in zip(counts[1:], turns[1:])]


def measure_instructions(given, report):
    pair, new_delete = given.work / "pair", given.work / "new_delete"
    functions = ["malloc", "new"] if given.quick else ["malloc", "calloc", "realloc", "aligned_alloc", "new"]
    columns = {"upstream": (pair, given.upstream), "ours": (pair, given.lib), "system": (pair, "")}
    if given.direct:
        columns = {"direct": (given.direct, ""), **columns}

    def count(function, size, column):
        program, preload = columns[column]
        command = [new_delete, str(size)] if function == "new" else [program, function, str(size)]
        # Ten turns are over before jemalloc finds anything else to do. Many are needed to spread over them what it does
        # by the clock, such as collecting a thread's cache: how often that happens is not the same in two runs.
        return per_turn(command, preload, [10, 20, 100_010])

    # jemalloc's archive has no operators, so for them there is no function to jump to.
    jobs = [
        (function, size, column)
        for function in functions for size in SIZES for column in columns if (function, column) != ("new", "direct")
    ]  # fmt: skip
    progress = Progress("instructions", len(jobs))
    counts = {}
    # Counts do not depend on what else runs, so these may run side by side.
    with concurrent.futures.ThreadPoolExecutor(max_workers=min(2, os.cpu_count() or 1)) as pool:
        pending = {pool.submit(count, *job): job for job in jobs}
        try:
            for done in concurrent.futures.as_completed(pending):
                counts[pending[done]] = done.result()
                progress.step()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    [loop] = per_turn([pair, "empty", "16"], "", [10, 20])

    names = {"malloc": "malloc, free", "calloc": "calloc, free", "realloc": "malloc, realloc to double, free",
             "aligned_alloc": "aligned_alloc(64), free", "new": "operator new, sized delete"}  # fmt: skip
    titles = {"direct": "jemalloc's functions", "upstream": "upstream's library", "ours": "ours", "system": "system's"}

    def over(function, size, column):
        if (function, size, column) not in counts:
            return ""
        return f"{counts[function, size, 'ours'][0] - counts[function, size, column][0]:+.0f}"

    rows = []
    for function in functions:
        for size in SIZES:
            cells = [counts.get((function, size, column)) for column in columns]
            rows.append([
                names[function], size, *("" if cell is None else f"{cell[0]:.0f} ({cell[1]:.1f})" for cell in cells),
                over(function, size, "upstream"), over(function, size, "direct"),
            ])  # fmt: skip
    report.section("Instructions", f"""
Per turn of a loop, by callgrind, the loop's own {loop:.0f} included: of a turn in which nothing else is due, and in brackets the
average over 100,000 turns, with what jemalloc does now and then by the clock (it varies by some tenths). "jemalloc's
functions" are the very object code that our library contains, called with nothing between: what exported names jump to.
""")
    report.table(
        ["functions", "bytes", *(titles[column] for column in columns), "ours − upstream's", "ours − functions"], rows
    )

    if given.direct:
        worst = max(counts["malloc", size, "ours"][0] - counts["malloc", size, "direct"][0] for size in SIZES)
        report.figure("instructions of malloc + free over jemalloc's functions, worst size", "at most 2", f"{worst:g}",
                      "reached" if worst <= 2 else "missed")  # fmt: skip
    worst = max(counts["new", size, "ours"][0] - counts["new", size, "upstream"][0] for size in SIZES)
    report.figure("instructions of new + sized delete over upstream's, worst size", "at most 0", f"{worst:+g}",
                  "reached" if worst <= 0 else "missed")  # fmt: skip


# --- threads that only free -----------------------------------------------------------------------------------------


def measure_free_only(given, report):
    program = given.work / "free_only"
    sides = {"upstream": given.upstream, "ours": given.lib, "system": ""}
    times = 5 if given.quick else 15
    progress = Progress("threads that only free", len(SIZES) * (len(sides) + times))
    rows = []
    for size in SIZES:
        instructions = {}
        for side, preload in sides.items():
            # Without giving pages back, which happens by the clock and would be most of the count at 1 KiB.
            keep = {"MALLOC_CONF": "dirty_decay_ms:-1"}
            [instructions[side]] = per_turn([program, str(size)], preload, [10_000, 50_000], keep)
            progress.step()
        nanoseconds = {side: [] for side in sides}
        for turn in range(times):
            order = list(sides)
            order = order[turn % len(order) :] + order[: turn % len(order)]
            for side in order:
                output = run([program, str(size), "100000"], sides[side]).stdout
                nanoseconds[side].append(float(re.search(r"free: ([\d.]+) ns", output)[1]))
            progress.step()
        ratio = Estimate([ours / theirs for ours, theirs in zip(nanoseconds["ours"], nanoseconds["upstream"])])
        rows.append([
            size,
            *(f"{instructions[side]:.1f}" for side in sides),
            *(f"{statistics.median(nanoseconds[side]):.1f}" for side in sides),
            ratio.text(2),
        ])  # fmt: skip
    report.section("Threads that only free", """
A thread that never allocates frees what another has allocated. Instructions per free by callgrind (with dirty_decay_ms:-1);
nanoseconds of that thread's CPU time per free over 100,000 blocks, interleaved; the ratio is ours to upstream's.""")  # fmt: skip
    report.table(
        ["bytes", "instructions, upstream's", "instructions, ours", "instructions, system's", "ns, upstream's", "ns, ours", "ns, system's", "ratio of ns"], rows
    )


# --- what loading costs ---------------------------------------------------------------------------------------------


def spawn(given, times, libraries, command, environment=None):
    """Runs a command `times` times under each library in turn: per library a list of (wall ns, CPU us, peak RSS KiB)."""
    result = run([given.work / "spawn", str(times), *libraries, "--", *map(str, command)], environment=environment)
    runs = [[] for _ in libraries]
    for line in result.stdout.splitlines():
        which, wall, cpu, peak, status = line.split()
        if status != "0":
            raise Failure(f"exit status {status} under {libraries[int(which)] or 'no preload'} from: {' '.join(map(str, command))}")
        runs[int(which)].append((float(wall), float(cpu), float(peak)))
    if result.stderr.strip():
        # The loader says here that a preload library could not be loaded, and runs the program without it.
        raise Failure(f"unexpected message from {command[0]}: {result.stderr.splitlines()[0]}")
    return runs


def measure_load(given, report):
    times = 50 if given.quick else 300
    command = [shutil.which("true")]
    progress = Progress("load", 1)
    bare, ours, upstream = spawn(given, times, ["", given.lib, given.upstream], command)
    progress.step()

    def over(with_library, figure, divisor):
        return Estimate([(run[figure] - base[figure]) / divisor for run, base in zip(with_library, bare)])

    rows = [
        [name, f"{statistics.median(run[0] for run in runs) / 1e6:.3f}", *extra, f"{statistics.median(run[2] for run in runs):.0f}"]
        for name, runs, extra in [
            ("no preload", bare, ["", ""]),
            ("ours", ours, [over(ours, 0, 1e6).text(), over(ours, 1, 1e3).text()]),
            ("upstream's", upstream, [over(upstream, 0, 1e6).text(), over(upstream, 1, 1e3).text()]),
        ]
    ]
    report.section("Load", f"""
`true`, {times} runs of each, interleaved. What a library adds is the median of the differences to the run without preload in the
same turn. In milliseconds; the peak resident set in KiB.""")  # fmt: skip
    report.table(["preload", "wall", "adds, wall", "adds, CPU", "peak RSS"], rows)
    added = over(ours, 0, 1e6)
    report.figure("load adds to `true`, ms", "under 1", added.text(), added.at_most(1))


# --- whole programs -------------------------------------------------------------------------------------------------


def generated_source(work):
    """A C file for the compiler proper: many functions of a kind that it has to think about."""
    source = work / "generated.c"
    lines = ["struct item { struct item *next; int key; double weight; };"]
    for number in range(170):
        lines.append(
            f"int f{number}(struct item *list, int *table, int count) {{\n"
            f"    int sum = {number};\n"
            "    for (int i = 0; i < count; i++) {\n"
            f"        switch (table[i] % {5 + number % 7}) {{\n"
            f"        case 0: sum += table[i] * {number + 3}; break;\n"
            f"        case 1: sum ^= table[(i + {number}) % count] << 2; break;\n"
            "        case 2: for (struct item *p = list; p; p = p->next) sum += p->key > sum ? p->key : (int)p->weight; break;\n"
            f"        default: sum -= i / {number + 1}; table[i] = sum; break;\n"
            "        }\n    }\n    return sum;\n}\n"
        )
    source.write_text("\n".join(lines))
    return source


def generated_history(work):
    """A git repository with the same 1,200 commits wherever this runs."""
    repository = work / "history.git"
    if (repository / "complete").exists():
        return repository
    shutil.rmtree(repository, ignore_errors=True)
    draw = random.Random(1)
    stream, texts = [], {}
    for number in range(1200):
        name = f"file-{draw.randrange(40)}.txt"
        lines = texts.setdefault(name, [f"{name} line {line}" for line in range(120)])
        for _ in range(draw.randrange(1, 9)):
            lines[draw.randrange(len(lines))] = f"changed in {number}: {draw.random()}"
        text, message = "\n".join(lines) + "\n", f"Change {name} for the {number}th time\n"
        stream.append(
            f"commit refs/heads/main\ncommitter A <a@example.com> {1_600_000_000 + number * 3600} +0000\n"
            f"data {len(message)}\n{message}M 100644 inline {name}\ndata {len(text)}\n{text}\n"
        )
    run(["git", "init", "-q", "--bare", "-b", "main", repository])
    subprocess.run(["git", "-C", repository, "fast-import", "--quiet"], input="".join(stream).encode(), env=ENVIRONMENT, check=True)
    (repository / "complete").touch()
    return repository


class Program:
    def __init__(self, name, command, workload=False, environment=None):
        self.name, self.command, self.workload, self.environment = name, command, workload, environment


def programs(given, report):
    """What is timed. A program that this machine lacks is left out, and the report says so."""
    found = []
    for name, *arguments in [
        ("json-rpc",),
        ("kv-churn", "--scale", "0.3"),
        ("io-threads", "--threads", "1"),
        ("io-threads", "--threads", "2"),
        ("io-threads", "--threads", "4"),
        ("block-build", "--scale", "0.6"),
    ]:
        title = " ".join([name, *arguments]).replace("--", "")
        found.append(Program(title, [given.workloads / name, *arguments], workload=True))

    python = os.path.realpath(sys.executable)
    found.append(Program("python3 json", [python, "-I", PROGRAMS / "json_loop.py"]))
    found.append(Program("python3 json, PYTHONMALLOC=malloc", [python, PROGRAMS / "json_loop.py"], environment={"PYTHONMALLOC": "malloc"}))
    missing = []
    if shutil.which("perl"):
        found.append(Program("perl words", ["perl", PROGRAMS / "words.pl"]))
    else:
        missing.append("perl")
    compiler = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True).stdout.strip() if shutil.which("gcc") else ""
    if os.path.isabs(compiler):
        found.append(Program("cc1 -O1", [compiler, "-quiet", "-O1", generated_source(given.work), "-o", "/dev/null"]))
    else:
        missing.append("gcc's cc1")
    if shutil.which("sqlite3"):
        found.append(Program("sqlite3 :memory:", ["sqlite3", ":memory:", f".read {PROGRAMS / 'orders.sql'}"]))
    else:
        missing.append("sqlite3")
    if shutil.which("git"):
        found.append(Program("git log -p", ["git", "-C", generated_history(given.work), "log", "-p", "--stat"]))
    else:
        missing.append("git")
    for name in missing:
        report.note(f"Left out, because it is not installed here: {name}.")
    return found


def comparable(program, output):
    """What must not depend on the allocator: a workload's checksum, any other program's whole output."""
    if not program.workload:
        return output
    return [line for line in output.splitlines() if line.startswith("checksum: ")]


def serves(program, library):
    """Whether jemalloc's own statistics at the exit of the program count small allocations."""
    environment = dict(program.environment or {}, MALLOC_CONF="stats_print:true")
    statistics_text = run(program.command, library, environment).stderr
    small = re.search(r"^small:\s+\d+\s+(\d+)", statistics_text, re.MULTILINE)
    return bool(small) and int(small[1]) > 0


def proven(given, report, candidates):
    """The programs whose output is the same under every allocator, and in which each library really serves."""
    kept = []
    progress = Progress("proof", len(candidates))
    for program in candidates:
        expected = comparable(program, run(program.command, "", program.environment).stdout)
        for name, library in (("ours", given.lib), ("upstream's", given.upstream)):
            if comparable(program, run(program.command, library, program.environment).stdout) != expected:
                raise Failure(f"{program.name} prints something else under {library} than without preload")
            if not serves(program, library):
                report.note(f"Left out: {program.name}; nothing shows that {name} library serves its allocations.")
                break
        else:
            kept.append(program)
        progress.step()
    return kept


def measure_wall(given, report):
    chosen = proven(given, report, programs(given, report))
    if not any(program.workload for program in chosen):
        raise Failure("no workload ran on both libraries: there is nothing to compare")
    sides = ["system", "ours", "upstream", "upstream again"]
    library = {"system": "", "ours": given.lib, "upstream": given.upstream, "upstream again": given.upstream}
    runs = {program.name: [] for program in chosen}
    progress = Progress("whole programs", given.rounds * len(chosen))
    for turn in range(given.rounds):
        for index, program in enumerate(chosen):
            shift = (turn + index) % len(sides)
            order = sides[shift:] + sides[:shift]
            results = spawn(given, 1, [library[side] for side in order], program.command, program.environment)
            runs[program.name].append({side: result[0] for side, result in zip(order, results)})
            progress.step()

    wall, cpu, peak = 0, 1, 2

    def ratios(name, side, base, figure):
        return [turn[side][figure] / turn[base][figure] for turn in runs[name]]

    def together(names, side, base, figure):
        columns = [ratios(name, side, base, figure) for name in names]
        return Estimate([geometric_mean(turn) for turn in zip(*columns)])

    def row(title, estimate):
        return [title,
                estimate("ours", "upstream", wall).text(), estimate("ours", "upstream", cpu).text(),
                f"{estimate('ours', 'upstream', peak).median:.2f}",
                estimate("upstream again", "upstream", wall).text(),
                estimate("ours", "system", wall).text(), f"{estimate('ours', 'system', cpu).median:.3f}",
                f"{estimate('ours', 'system', peak).median:.2f}",
                f"{estimate('upstream', 'system', wall).median:.3f}",
                f"{estimate('upstream', 'system', peak).median:.2f}"]  # fmt: skip

    workloads = [program.name for program in chosen if program.workload]
    real = [program.name for program in chosen if not program.workload]
    rows = [
        row(program.name, lambda *asked, name=program.name: Estimate(ratios(name, *asked))) for program in chosen
    ]
    for title, names in (("**the workloads**", workloads), ("**real programs**", real), ("**all**", workloads + real)):
        if names:
            rows.append(row(title, lambda *asked, names=names: together(names, *asked)))
    interval = "" if given.rounds < ROUNDS_FOR_INTERVAL else ", in brackets its 95% interval by bootstrap"
    report.section("Whole programs", f"""
Ratios of ours, the last two of upstream's: below 1 is faster, or smaller. {given.rounds} rounds; in each, every program under
each allocator, in rotated order. The median of the rounds' ratios{interval}. Rows in bold are geometric means. "Upstream's again" is upstream's library against itself in
the same rounds: as far as that is from 1, this run cannot tell. Before the rounds each program's output was compared
across the allocators, and jemalloc's statistics had to show small allocations served.""")  # fmt: skip
    report.table(
        ["program", "wall to upstream's", "CPU to upstream's", "peak RSS to upstream's", "upstream's again, wall",
         "wall to system's", "CPU to system's", "peak RSS to system's", "upstream's wall to system's",
         "upstream's peak RSS to system's"], rows)  # fmt: skip
    estimate = together(workloads, "ours", "upstream", wall)
    null = together(workloads, "upstream again", "upstream", wall)
    report.figure("wall time over the workloads, ratio to upstream's", "at most 1.01", estimate.text(), estimate.at_most(1.01))
    report.figure("the same of upstream's against itself (what noise alone does)", "", null.text(), "")
    report.figure("CPU time over the workloads, ratio to upstream's", "", together(workloads, "ours", "upstream", cpu).text(), "")


# --- the file itself ------------------------------------------------------------------------------------------------


def stripped_size(library):
    with tempfile.TemporaryDirectory() as directory:
        copy = os.path.join(directory, "stripped")
        run(["strip", "-o", copy, library])
        return os.path.getsize(copy)


def needed(library):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", run(["readelf", "-d", library]).stdout)


def measure_size(given, report):
    rows = []
    for name, library in (("ours", given.lib), ("upstream's", given.upstream)):
        rows.append([name, f"{stripped_size(library):,}", ", ".join(needed(library)) or "none"])
    report.section("The file")
    report.table(["library", "bytes, stripped", "needs"], rows)
    size = stripped_size(given.lib)
    report.figure("stripped library, MB", "under 1.5", f"{size / 1e6:.2f}", "reached" if size < 1.5e6 else "missed")
    cxx = [name for name in needed(given.lib) if "stdc++" in name or "libc++" in name]
    report.figure("C++ runtime among the needed libraries", "none", ", ".join(cxx) or "none", "missed" if cxx else "reached")


# --- the report -----------------------------------------------------------------------------------------------------


class Report:
    def __init__(self):
        self.body, self.figures, self.notes = [], [], []

    def section(self, title, text=""):
        self.body += [f"## {title}", ""]
        if text:
            self.body += [textwrap.fill(" ".join(text.split()), 120), ""]

    def table(self, titles, rows):
        self.body += self.rows(titles, rows)

    @staticmethod
    def rows(titles, rows):
        lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
        return [*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows), ""]

    def figure(self, name, wanted, measured, verdict):
        self.figures.append([name, wanted, measured, verdict])

    def note(self, text):
        self.notes.append(text)
        print(f"bench: {text}", file=sys.stderr)

    def text(self, given, seconds):
        lines = ["# Benchmarks", "", f"Written by `{given.command_line}`; run it again to replace every figure on this page.", ""]
        lines += self.rows(["", ""], machine(given) + [["time taken", f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"]])
        lines += ["## Figures to reach", ""] + self.rows(["figure", "wanted", "measured", ""], self.figures)
        lines += self.body
        if self.notes:
            lines += ["## Notes", "", *(f"- {note}" for note in self.notes), ""]
        return "\n".join(lines)


def machine(given):
    def first_line(command):
        return run(command).stdout.splitlines()[0]

    processor = platform.machine()
    try:
        model = re.search(r"^model name\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        processor += f", {model[1]}" if model else ""
    except OSError:
        pass
    built_with = dict(line.split(" ", 1) for line in (pathlib.Path(given.upstream).parent / "built-with").read_text().splitlines())
    return [
        ["date", datetime.date.today().isoformat()],
        ["library", name(given.lib)],
        ["upstream's library", f"jemalloc {built_with['version'].split('-')[0]}, {built_with['flags']}"],
        ["processor", f"{processor}, {len(os.sched_getaffinity(0))} cores"],
        ["kernel", platform.release()],
        ["C library", " ".join(platform.libc_ver())],
        ["compilers", f"{first_line(['cc', '--version'])}; {subprocess.run(['rustc', '--version'], capture_output=True, text=True).stdout.strip()}"],
        ["load before", f"{given.load_before:.2f}" + (f", run at niceness {os.nice(0)}" if os.nice(0) else "")],
    ]  # fmt: skip


def name(library):
    """A library as a reader of the report can find it: never a path of this machine's."""
    path = pathlib.Path(library)
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name


def arguments():
    parser = argparse.ArgumentParser(description="Started by scripts/bench.sh, which explains the options.")
    parser.add_argument("--command-line", required=True)
    for path in ("--work", "--workloads"):
        parser.add_argument(path, required=True, type=pathlib.Path)
    for library in ("--lib", "--upstream"):
        parser.add_argument(library, required=True, type=os.path.abspath)
    parser.add_argument("--direct", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--out", type=pathlib.Path)
    given = parser.parse_args()
    given.parts = given.only.split(",")
    unknown = [part for part in given.parts if part not in PARTS]
    if unknown:
        parser.exit(2, f"bench: --only: no part {unknown[0]!r}; there are {', '.join(PARTS)}\n")
    given.load_before = os.getloadavg()[0]
    return given


def main():
    given = arguments()
    report = Report()
    start = time.monotonic()
    for part, measure in zip(PARTS, (measure_instructions, measure_free_only, measure_load, measure_wall, measure_size)):
        if part in given.parts:
            measure(given, report)
    text = report.text(given, time.monotonic() - start)
    print(text)
    if given.out:
        # Renamed into place: a report that was there before is replaced by a whole one or not at all.
        partial = given.out.with_name(given.out.name + ".partial")
        partial.write_text(text)
        partial.replace(given.out)
        print(f"bench: written to {given.out}", file=sys.stderr)


def stop(*_):
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)
    try:
        main()
    except KeyboardInterrupt:
        print("\nbench: stopped; no report written", file=sys.stderr)
        sys.exit(130)
    except (Failure, OSError) as failure:
        print(f"bench: {failure}", file=sys.stderr)
        sys.exit(1)
