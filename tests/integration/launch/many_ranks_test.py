#!/usr/bin/env python3
"""One launcher and one engine on each of many nodes, a model of a few KB: what grows with the number
of ranks must not break.

    many_ranks_test.py BUILD_DIRECTORY NUMBER_OF_NODES

Prints how long the ranks took to meet and to end, the memory of the biggest, and their connections:
only rank 0 may have one to each other rank.
"""

import hashlib
import os
import re
import shutil
import sys
import tempfile
import time

import bed

BIN = os.path.abspath(sys.argv[1])
NODES = int(sys.argv[2])
LIMIT = 240  # only a hang reaches it


def make_model(directory):
    """Small files, an empty one, and one of 41 chunks: so many ranks are roots."""
    os.makedirs(f"{directory}/deep/er")
    for name, size in (("config.json", 700), ("empty", 0), ("deep/er/weights", 40 * 65_536 + 1),
                       *((f"part-{i:02}", 1000 + 371 * i) for i in range(20))):
        with open(f"{directory}/{name}", "wb") as out:
            out.write(os.urandom(size))


def digests(directory):
    found = {}
    for place, directories, files in os.walk(directory):
        if ".stage-model" in directories:
            directories.remove(".stage-model")
        for name in files:
            path = os.path.join(place, name)
            with open(path, "rb") as text:
                found[os.path.relpath(path, directory)] = hashlib.sha256(text.read()).hexdigest()
    return found


class Watch:
    """Peak resident memory in MiB, by program, of the process that needed most, and of all at once;
    each engine's most sockets."""

    def __init__(self):
        self.peak = {}
        self.sockets = {}
        self.free_before = self.available()
        self.together = 0.0

    @staticmethod
    def available():
        with open("/proc/meminfo", encoding="ascii") as text:
            return int(re.search(r"MemAvailable:\s+(\d+)", text.read()).group(1)) / 1024

    def look(self):
        self.together = max(self.together, self.free_before - self.available())
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/status", encoding="ascii") as text:
                    status = text.read()
            except OSError:
                continue  # ended meanwhile
            name = re.search(r"Name:\s+(\S+)", status).group(1)
            peak = re.search(r"VmHWM:\s+(\d+)", status)
            if name.startswith("stage-") and peak:
                self.peak[name] = max(self.peak.get(name, 0), int(peak.group(1)) / 1024)
            if name == "stage-engine":
                self.sockets[pid] = max(self.sockets.get(pid, 0), self.sockets_of(pid))

    @staticmethod
    def sockets_of(pid):
        try:
            with os.scandir(f"/proc/{pid}/fd") as files:
                return sum(os.readlink(file.path).startswith("socket:") for file in files)
        except OSError:
            return 0  # ended, or closed one meanwhile


def start(nodes, source):
    key, names = f"{TOP}/key", f"{TOP}/nodes"
    with open(key, "w", encoding="ascii", opener=lambda p, f: os.open(p, f, 0o600)) as out:
        out.write("0123456789abcdef0123456789abcdef\n")
    with open(names, "w", encoding="ascii") as out:
        out.writelines(f"n{k}=10.88.0.{k}\n" for k in range(1, NODES + 1))
    # All of them share the cores of one machine: nobody is lost because it is slow.
    config = f"{TOP}/config.toml"
    with open(config, "w", encoding="ascii") as out:
        out.write("[limits]\nheartbeat_timeout_s = 60\nengine_start_timeout_s = 200\n"
                  "stall_timeout_s = 200\n")
    processes = []
    for k in range(1, NODES + 1):
        os.mkdir(f"{root_of(nodes, k)}/run/nvme", 0o755)
        place = f"{TOP}/n{k}"
        os.mkdir(place, 0o700)
        with open(f"{place}.out", "wb") as out:
            processes.append(nodes.start(k, [
                "env", "-i", "PATH=/usr/bin:/bin", f"{BIN}/stage-launch", "--config",
                config, "--verbose", "--job", "many", "--index", str(k - 1), "--nodes-file", names,
                "--key-file", key, "--record-dir", place, "--root", "/run/nvme",
                "--uid", str(bed.UID), "--gid", str(bed.GID), "--user", bed.USER,
                "--engine", f"{BIN}/stage-engine", "--", "--chunk-size", "64KiB", f"file://{source}",
                f"/run/nvme/{bed.USER}/model"], stdout=out, stderr=out,
                # The kernel shares the cores out by session: together in one, launchers starve.
                start_new_session=True))
    return processes


def root_of(nodes, k):
    return f"/proc/{bed.child_of(nodes.holders[k - 1].pid)}/root"


def output(k):
    with open(f"{TOP}/n{k}.out", encoding="utf-8", errors="replace") as text:
        return text.read()


def last_time(word):
    """When the last launcher said it, in seconds after its own start."""
    said = [re.search(rf"\[([0-9.]+) s\] {word}", output(k)) for k in range(1, NODES + 1)]
    assert all(said), f"{said.count(None)} of {NODES} never said {word!r}"
    return max(float(match.group(1)) for match in said)


def test():
    source = f"{TOP}/source"
    make_model(source)
    expected = digests(source)
    made = time.monotonic()
    nodes = bed.Bed(NODES, TOP, routed=True)
    print(f"{NODES} nodes made in {time.monotonic() - made:.1f} s", flush=True)
    watch = Watch()
    begun = time.monotonic()
    processes = start(nodes, source)
    started = time.monotonic()
    while any(process.poll() is None for process in processes):
        watch.look()
        if time.monotonic() - begun > LIMIT:
            break
        time.sleep(0.5)
    ended = time.monotonic()
    codes = [process.poll() for process in processes]
    if any(codes):
        failed = [k for k, code in enumerate(codes, 1) if code != 0]
        for k in failed[:3] + failed[-1:]:
            print(f"--- n{k} ended with {codes[k - 1]}\n{output(k)[-3000:]}")
        raise AssertionError(f"{len(failed)} of {NODES} did not stage")
    print(output(1))
    for k in range(1, NODES + 1):
        found = digests(f"{root_of(nodes, k)}/run/nvme/{bed.USER}/model")
        assert found == expected, f"n{k} holds {found}"
    print(f"starting {NODES} launchers: {started - begun:.1f} s; launcher start to MPI_Init done: "
          f"{last_time('MPI_Init is done'):.1f} s; first start to last end: {ended - begun:.1f} s")
    print("peak MiB: " + ", ".join(f"{name} {mib:.0f}" for name, mib in watch.peak.items())
          + f"; the machine's free memory fell by {watch.together:.0f}")
    sockets = sorted(watch.sockets.values())
    middle = sockets[len(sockets) // 2]
    print(f"sockets of an engine: {middle} in the middle, {sockets[-1]} at most")
    # Neighbours, trees and rounds of log N; with each other rank it would be NODES.
    assert NODES < 64 or middle < NODES / 2, sockets


if __name__ == "__main__":
    bed.enter_outer()
    TOP = tempfile.mkdtemp(prefix="stage-many.", dir="/tmp")
    os.chmod(TOP, 0o755)
    try:
        test()
    finally:
        shutil.rmtree(TOP, ignore_errors=True)
