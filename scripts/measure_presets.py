"""The measuring part of scripts/measure-presets.sh, which finds or builds what this runs: start it from there.

Every preset runs once a round, in an order that rotates, and is compared with `default` within the round: the figure is
the median of the rounds' ratios, so that a busy machine disturbs both sides alike.
"""

import argparse
import datetime
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

MEASURES = ("peak RSS", "CPU", "wall")
ENVIRONMENT = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": "/nonexistent", "LC_ALL": "C", "PYTHONHASHSEED": "0"}
ROOT = pathlib.Path(__file__).resolve().parent.parent


class Failure(Exception):
    """What makes the whole measurement worthless; its text is what the user reads."""


def timed(command, settings):
    """Starts a command under settings; /usr/bin/time stands between, since a peak starts at that of the parent."""
    line = ["/usr/bin/time", "-q", "-f", "%M", "-o", settings["_peak"], "env", *(f"{k}={v}" for k, v in settings.items() if k[0] != "_")]
    return subprocess.Popen(line + command, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process, settings, start):
    output, errors = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    wall = time.monotonic() - start
    if status != 0:
        raise Failure(f"{process.args}: status {status}: {errors.decode(errors='replace')}")
    peak = int(pathlib.Path(settings["_peak"]).read_text().split()[-1])
    return {"peak RSS": peak, "CPU": usage.ru_utime + usage.ru_stime, "wall": wall}, output.decode()


def program(*command):
    def once(settings):
        start = time.monotonic()
        return finish(timed([str(word) for word in command], settings), settings, start)[0]

    return once


def requests(path):
    def once(settings):
        start = time.monotonic()
        figures, output = finish(timed([str(path)], settings), settings, start)
        median, _, slow, _, idle = map(int, output.split())
        return dict(figures, median=median, slow=slow, idle=idle)

    return once


def redis(folder):
    """The server is measured; the wall time is that of redis-benchmark."""
    socket = folder / "redis.sock"

    def client(*arguments):
        return subprocess.run(arguments, env=ENVIRONMENT, capture_output=True, text=True, check=False)

    def once(settings):
        server = timed(["redis-server", "--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", str(folder)], settings)
        until = time.monotonic() + 20
        while "PONG" not in client("redis-cli", "-s", str(socket), "ping").stdout:
            if time.monotonic() > until or server.poll() is not None:
                raise Failure("redis-server did not start")
            time.sleep(0.02)
        start = time.monotonic()
        tests = ("-t", "set,get,lpush,lpop", "-n", "10000", "-r", "10000", "-d", "200", "-q")
        if client("redis-benchmark", "-s", str(socket), *tests).returncode != 0:
            raise Failure("redis-benchmark failed")
        wall = time.monotonic() - start
        client("redis-cli", "-s", str(socket), "shutdown", "nosave")
        return dict(finish(server, settings, start)[0], wall=wall)

    return once


def settings_of(jeshim, library, preset, conf):
    """The variables of a preset, as the command prints them; or of an option string, to try one out."""
    choice = ["--conf", conf] if conf else ["--preset", preset]
    output = subprocess.run([jeshim, "run", "--lib", library, *choice, "--print-env"], env=ENVIRONMENT, capture_output=True, text=True, check=False)
    if output.returncode != 0:
        raise Failure(output.stderr.strip())
    pairs = (line.split("=", 1) for line in output.stdout.splitlines())
    return {name: value.strip("'") for name, value in pairs}


def main():
    parser = argparse.ArgumentParser(prog="scripts/measure-presets.sh")
    parser.add_argument("--jeshim", required=True)
    parser.add_argument("--lib", required=True)
    parser.add_argument("--programs", required=True, type=pathlib.Path)
    parser.add_argument("--requests", required=True)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="")
    parser.add_argument("--presets", default="default,low-rss,throughput,low-latency,debug")
    parser.add_argument("--try", dest="tried", action="append", default=[], help="an option string to measure besides")
    arguments = parser.parse_args()
    # Removed when the script ends.
    temporary = tempfile.TemporaryDirectory(prefix="measure-presets-")
    folder = pathlib.Path(temporary.name)
    built = arguments.programs
    works = {
        "json-rpc": program(built / "json-rpc", "--scale", "0.1"),
        "kv-churn": program(built / "kv-churn", "--scale", "0.04"),
        "io-threads, 4 + 4 threads": program(built / "io-threads", "--threads", "4", "--scale", "1"),
        "block-build": program(built / "block-build", "--scale", "0.15"),
        "python3, json": program("/usr/bin/python3", ROOT / "workloads/programs/json_loop.py"),
        "redis-server": redis(folder),
        "buffers": program(arguments.requests, "buffers"),
        "visitors": program(arguments.requests, "visitors"),
        "requests": requests(arguments.requests),
    }
    works = {name: once for name, once in works.items() if not arguments.only or name.split(",")[0] in arguments.only.split(",")}
    sets = {name: (name, "") for name in arguments.presets.split(",")}
    sets.update({conf: ("", conf) for conf in arguments.tried})
    sets = {name: settings_of(arguments.jeshim, arguments.lib, *choice) for name, choice in sets.items()}
    for settings in sets.values():
        settings["_peak"] = str(folder / "peak")
    load = os.getloadavg()[0]
    figures = {name: {preset: [] for preset in sets} for name in works}
    start = time.monotonic()
    for turn in range(arguments.rounds):
        for name, once in works.items():
            order = list(sets)
            for preset in order[turn % len(order):] + order[: turn % len(order)]:
                figures[name][preset].append(once(sets[preset]))
            print(f"measure-presets: round {turn + 1} of {arguments.rounds}, {name}, {time.monotonic() - start:.0f} s", file=sys.stderr)
    report(arguments, sets, figures, load)


def report(arguments, sets, figures, load):
    def ratio(name, preset, measure):
        pairs = zip(figures[name][preset], figures[name]["default"])
        return statistics.median(one[measure] / other[measure] for one, other in pairs)

    others = [preset for preset in sets if preset != "default"]
    print(f"{datetime.date.today()}, {platform.machine()}, {os.cpu_count()} CPUs shared with other work (load {load:.1f} at the start, "
          f"{os.getloadavg()[0]:.1f} at the end), {arguments.rounds} rounds, `scripts/measure-presets.sh`")
    print()
    for measure in MEASURES:
        print(f"| {measure} | " + " | ".join(others) + " |\n|---|" + "---|" * len(others))
        for name in figures:
            print(f"| {name} | " + " | ".join(f"{ratio(name, preset, measure):.2f}" for preset in others) + " |")
        print()
    if "requests" in figures:
        print("| one request | " + " | ".join(others) + " |\n|---|" + "---|" * len(others))
        for measure, label in (("median", "median"), ("slow", "slowest of 1000"), ("idle", "resident set, idle for 2 s")):
            print(f"| {label} | " + " | ".join(f"{ratio('requests', preset, measure):.2f}" for preset in others) + " |")
        for measure, label in (("median", "median"), ("slow", "slowest of 1000")):
            middle = statistics.median(one[measure] for one in figures["requests"]["default"])
            print(f"\nUnder `default` the {label} took {middle / 1000:.0f} µs.", end="")
        idle = statistics.median(one["idle"] for one in figures["requests"]["default"])
        print(f" Idle it held {idle / 1024:.0f} MiB.")


try:
    main()
except Failure as failure:
    sys.exit(f"measure-presets: {failure}")
