#!/usr/bin/env python3
"""Makes a running qemu-storage-daemon read from and write to disks that are nothing but a driver (null-co), with an I/O
thread for each: a backup job a disk, 32 requests deep, a block of 64 KiB for each request.

    load.py PORT DISKS [--requests NUMBER]

PORT is where the daemon's monitor (QMP) is. Prints how many requests were done in a second, all disks together.
"""
import argparse
import json
import socket
import sys
import time

BLOCK = 64 << 10
DEPTH = 32


class Monitor:
    def __init__(self, port):
        try:
            self.socket = socket.create_connection(("127.0.0.1", port), timeout=300)
        except OSError as error:
            sys.exit(f"load.py: no monitor at port {port}: {error}; start the daemon first")
        self.lines = self.socket.makefile("r")
        self.events = []
        self.receive()  # Its greeting.
        self.ask("qmp_capabilities")

    def receive(self):
        line = self.lines.readline()
        if not line:
            sys.exit("load.py: the daemon is gone")
        return json.loads(line)

    def ask(self, command, **arguments):
        named = {name.replace("_", "-"): value for name, value in arguments.items()}
        self.socket.sendall(json.dumps({"execute": command, "arguments": named}).encode() + b"\n")
        while True:
            said = self.receive()
            if "error" in said:
                sys.exit(f"load.py: {command}: {said['error']['desc']}")
            if "return" in said:
                return
            self.events.append(said)

    def event(self):
        return self.events.pop(0) if self.events else self.receive()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("port", type=int)
    parser.add_argument("disks", type=int)
    parser.add_argument("--requests", type=int, default=3_000_000, help="of all disks together")
    options = parser.parse_args()
    disks = options.disks
    each = options.requests // max(disks, 1)
    if disks < 1 or each < 1:
        sys.exit("load.py: one disk and a request for each, at least")

    monitor = Monitor(options.port)
    for disk in range(disks):
        monitor.ask("object-add", qom_type="iothread", id=f"thread{disk}")
        for node in (f"from{disk}", f"to{disk}"):
            monitor.ask("blockdev-add", driver="null-co", node_name=node, size=each * BLOCK, read_zeroes=False)
            monitor.ask("x-blockdev-set-iothread", node_name=node, iothread=f"thread{disk}")

    start = time.monotonic()
    for disk in range(disks):
        monitor.ask(
            "blockdev-backup", job_id=f"job{disk}", device=f"from{disk}", target=f"to{disk}", sync="full",
            x_perf={"max-workers": DEPTH, "max-chunk": BLOCK},
        )
    running = disks
    while running:
        event = monitor.event()
        if event.get("event") in ("BLOCK_JOB_ERROR", "BLOCK_JOB_CANCELLED"):
            sys.exit(f"load.py: a job did not do its work: {event['data']}")
        if event.get("event") == "BLOCK_JOB_COMPLETED":
            if event["data"].get("error") or event["data"]["offset"] != each * BLOCK:
                sys.exit(f"load.py: a job did not do its work: {event['data']}")
            running -= 1
    took = time.monotonic() - start
    print(f"requests: {each * disks}")
    print(f"iops: {each * disks / took:.0f}")


if __name__ == "__main__":
    main()
