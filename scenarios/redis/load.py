#!/usr/bin/env python3
"""Drives a redis-server through the plan of 800,000 operations: 200,000 keys are set; then five rounds, each of which
overwrites 40,000 keys, deletes 40,000 and adds 40,000, so that as many stay. Values have 450 bytes in the mean.

    load.py PORT loaded|churned|deleted [--keys NUMBER] [--churn ROUNDS] [--seed NUMBER]

Each phase is a run of its own. What earlier phases left is worked out again from the seed, and the server's number of keys is
compared with it at the end: a phase that did not do its work fails.
"""
import argparse
import random
import socket
import sys
import time

SHORTEST, LONGEST = 100, 800
# Commands that are on their way at once.
BATCH = 500
# redis reads its own resident set ten times a second.
REST = 0.25


class Server:
    def __init__(self, port):
        try:
            self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        except OSError as error:
            sys.exit(f"load.py: no redis-server at port {port}: {error}; start it first")
        self.replies = self.socket.makefile("rb")
        self.waiting, self.sent = [], 0

    def send(self, *words):
        parts = [b"*%d\r\n" % len(words)]
        for word in words:
            parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
        self.waiting.append(b"".join(parts))
        if len(self.waiting) == BATCH:
            self.flush()

    def flush(self):
        """Sends what waits; the last reply."""
        self.socket.sendall(b"".join(self.waiting))
        reply = b""
        for _ in self.waiting:
            reply = self.replies.readline()
            if not reply or reply.startswith(b"-"):
                sys.exit(f"load.py: the server says {reply.decode(errors='replace').strip() or 'nothing more'}")
        self.sent += len(self.waiting)
        self.waiting = []
        return reply


def key(number):
    return b"key:%08d" % number


class Plan:
    """The keys that there are, and what is done to them: the same for the same seed."""

    def __init__(self, keys, rounds, seed):
        self.keys, self.rounds, self.seed = keys, rounds, seed
        self.live = list(range(keys))
        self.next = keys
        self.operations = 0

    def random(self, phase):
        return random.Random(f"{self.seed} {phase}")

    def set(self, server, numbers, generator):
        self.operations += len(numbers)
        if server:
            for number in numbers:
                length = generator.randint(SHORTEST, LONGEST)
                server.send(b"SET", key(number), (b"%d:" % number).ljust(length, b"x"))

    def delete(self, server, numbers):
        self.operations += len(numbers)
        if server:
            for number in numbers:
                server.send(b"DEL", key(number))

    def loaded(self, server):
        self.set(server, self.live, self.random("load"))

    def churned(self, server):
        order, values = self.random("order"), self.random("churn")
        share = self.keys // 5
        for _ in range(self.rounds):
            self.set(server, order.sample(self.live, share), values)
            order.shuffle(self.live)
            self.delete(server, self.live[-share:])
            del self.live[-share:]
            added = list(range(self.next, self.next + share))
            self.next += share
            self.set(server, added, values)
            self.live += added

    def deleted(self, server):
        """Three keys of four, at random: what is left is everywhere."""
        self.random("delete").shuffle(self.live)
        left = len(self.live) // 4
        self.delete(server, self.live[left:])
        del self.live[left:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("port", type=int)
    phases = ["loaded", "churned", "deleted"]
    parser.add_argument("phase", choices=phases)
    parser.add_argument("--keys", type=int, default=200_000)
    parser.add_argument("--churn", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.keys < 5 or options.churn < 0:
        sys.exit("load.py: --keys is 5 at least, and --churn not below 0")

    plan = Plan(options.keys, options.churn, options.seed)
    for earlier in phases[: phases.index(options.phase)]:
        getattr(plan, earlier)(None)
    plan.operations = 0
    server = Server(options.port)
    start = time.monotonic()
    getattr(plan, options.phase)(server)
    if server.waiting:
        server.flush()
    took = time.monotonic() - start
    if server.sent != plan.operations:
        sys.exit(f"load.py: {server.sent} operations were sent, and the plan has {plan.operations}")
    server.send(b"DBSIZE")
    there = int(server.flush()[1:])
    if there != len(plan.live):
        sys.exit(f"load.py: the server has {there} keys, and the plan leaves {len(plan.live)}; start it empty")
    time.sleep(REST)
    print(f"operations: {plan.operations}")
    if plan.operations:
        print(f"rate: {plan.operations / took:.0f} operations/s")


if __name__ == "__main__":
    main()
