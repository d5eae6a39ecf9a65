"""Nodes for the launcher's tests: network, mount, uts, ipc and pid namespaces joined by a bridge.

Everything lives inside one outer set of namespaces that ends with the test, whatever happens to it:
no process, mount or interface is left behind, and nothing of the machine's is touched.
"""

import os
import signal
import subprocess
import sys
import time

USER, UID, GID, EXTRA_GID = "stager", 20001, 20001, 20003
OUTER = ["unshare", "--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child=SIGKILL",
         "--mount-proc", "--propagation", "private"]


def enter_outer():
    """Starts this script again inside the outer namespaces; returns there."""
    if os.environ.get("STAGE_BED") == "inside":
        return
    if os.geteuid() != 0:
        print("needs root for namespaces; skipped")
        sys.exit(77)
    os.environ["STAGE_BED"] = "inside"
    os.execvp(OUTER[0], OUTER + [sys.executable] + sys.argv)


def run(*command):
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


def child_of(pid):
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
                found = children.read().split()
        except FileNotFoundError:
            return None
        if found:
            return int(found[0])
        time.sleep(0.005)
    return None


class Bed:
    """N nodes n1..nN at 10.88.0.1.., a user, and munged on one socket for all.

    routed: each node knows one neighbour, a router, in place of all others on one bridge. The kernel
    keeps 1,024 neighbours over all namespaces together: 33 nodes that talk to each other.
    """

    def __init__(self, size, directory, routed=False):
        self.size = size
        self.routed = routed
        self.directory = directory
        self.holders = []
        self.start_outer()
        for k in range(1, size + 1):
            self.start_node(k)

    def start_outer(self):
        for name in ("passwd", "group"):
            with open(f"/etc/{name}", encoding="utf-8") as original:
                text = original.read()
            if name == "passwd":
                text += f"{USER}:x:{UID}:{GID}::/tmp:/bin/sh\n"
            else:
                text += f"{USER}:x:{GID}:\nstagers:x:{EXTRA_GID}:{USER}\n"
            path = f"{self.directory}/{name}"
            with open(path, "w", encoding="utf-8") as copy:
                copy.write(text)
            run("mount", "--bind", path, f"/etc/{name}")
        run("mount", "-t", "tmpfs", "tmpfs", "/run")
        os.mkdir("/run/netns")
        run("ip", "link", "set", "lo", "up")
        if self.routed:
            with open("/proc/sys/net/ipv4/ip_forward", "w", encoding="ascii") as forward:
                forward.write("1")
        else:
            run("ip", "link", "add", "brq", "type", "bridge")
            run("ip", "addr", "add", "10.88.0.254/24", "dev", "brq")
            run("ip", "link", "set", "brq", "up")
        munge = f"{self.directory}/munge"
        os.mkdir(munge, 0o755)
        with open(f"{munge}/key", "wb", opener=lambda p, f: os.open(p, f, 0o600)) as key:
            key.write(os.urandom(128))
        run("munged", "--force", f"--key-file={munge}/key", f"--socket={munge}/socket",
            f"--pid-file={munge}/pid", f"--log-file={munge}/log", f"--seed-file={munge}/seed")
        self.munge_socket = f"{munge}/socket"

    def start_node(self, k):
        run("ip", "netns", "add", f"n{k}")
        run("ip", "link", "add", f"v{k}", "type", "veth", "peer", "name", "eth0", "netns", f"n{k}")
        run("ip", "-n", f"n{k}", "link", "set", "lo", "up")
        if self.routed:
            run("ip", "addr", "add", "10.88.0.254/32", "dev", f"v{k}")
            run("ip", "link", "set", f"v{k}", "up")
            run("ip", "-n", f"n{k}", "addr", "add", f"10.88.0.{k}/24", "dev", "eth0",
                "noprefixroute")
            run("ip", "-n", f"n{k}", "link", "set", "eth0", "up")
            run("ip", "route", "add", f"10.88.0.{k}/32", "dev", f"v{k}")
            run("ip", "-n", f"n{k}", "route", "add", "default", "via", "10.88.0.254", "dev", "eth0",
                "onlink")
        else:
            run("ip", "link", "set", f"v{k}", "master", "brq", "up")
            run("ip", "-n", f"n{k}", "addr", "add", f"10.88.0.{k}/24", "dev", "eth0")
            run("ip", "-n", f"n{k}", "link", "set", "eth0", "up")
        holder = subprocess.Popen(
            ["ip", "netns", "exec", f"n{k}", "unshare", "--mount", "--uts", "--ipc", "--pid",
             "--fork", "--kill-child=SIGKILL", "--mount-proc", "bash", "-c",
             f"hostname n{k}; mount -t tmpfs tmpfs /dev/shm; mount -t tmpfs tmpfs /run;"
             "echo up; exec sleep infinity"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        holder.stdout.readline()
        self.holders.append(holder)

    def start(self, k, command, prefix=(), **options):
        """Runs a command on node k (from 1); .inner is its own pid."""
        target = child_of(self.holders[k - 1].pid)
        process = subprocess.Popen(
            ["nsenter", "-t", str(target), "--mount", "--uts", "--ipc", "--net", "--pid",
             "--root", *prefix, *command],  # the target's root: the tests may run in a chroot
            stdin=subprocess.DEVNULL, **options)
        process.inner = child_of(process.pid)
        return process

    def cut(self, k):
        run("ip", "link", "set", f"v{k}", "down")

    def mend(self, k):
        run("ip", "link", "set", f"v{k}", "up")


def kill(pid, number=signal.SIGKILL):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
