"""Starts one command per node at once, waits for all, and says what they took."""

import os
import resource
import select
import subprocess
import time


class RunError(Exception):
    pass


def stat_busy():
    """CPU seconds that this machine has spent on anything so far, all its cores together."""
    with open("/proc/stat") as file:
        ticks = [int(t) for t in file.readline().split()[1:9]]
    idle = ticks[3] + ticks[4]
    return (sum(ticks) - idle) / os.sysconf("SC_CLK_TCK")


def together(commands, limit, logs, environment=None):
    """Runs the commands at once. Returns a dictionary: wall and CPU seconds, peak memory (bytes, of
    the largest single process), and each command's own seconds. Raises RunError if one fails, or if
    they take longer than `limit` seconds."""
    began, busy, load = time.monotonic(), stat_busy(), os.getloadavg()[0]
    poll = select.poll()
    waiting = {}
    for i, command in enumerate(commands):
        with open(logs[i], "wb") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log,
                                       stderr=subprocess.STDOUT, env=environment)
        fd = os.pidfd_open(process.pid)
        poll.register(fd, select.POLLIN)
        # Kept: of a process that nobody holds, the next Popen() would take the status.
        waiting[fd] = (i, process)
    seconds, peak, cpu, failed = [0.0] * len(commands), [0] * len(commands), 0.0, []
    while waiting:
        left = began + limit - time.monotonic()
        ready = poll.poll(max(0, left * 1000)) if left > 0 else []
        if not ready:
            nodes = ", ".join(str(i + 1) for i, _ in waiting.values())
            raise RunError(f"not done after {limit:.0f} s: nodes {nodes} (logs: {logs[0]} …)")
        for fd, _ in ready:
            i, process = waiting.pop(fd)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            poll.unregister(fd)
            os.close(fd)
            seconds[i] = time.monotonic() - began
            cpu += used.ru_utime + used.ru_stime
            peak[i] = used.ru_maxrss * 1024
            if status != 0:
                failed.append(i)
    wall = time.monotonic() - began
    if failed:
        with open(logs[failed[0]], errors="replace") as file:
            raise RunError(f"node {failed[0] + 1} failed ({len(failed)} of {len(commands)}): "
                           f"{file.read().strip()[-800:]}")
    # A child's peak starts with what it had of this process before exec.
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"wall_s": wall, "cpu_s": cpu, "machine_cpu_s": stat_busy() - busy, "load_before": load,
            "peak_rss": max(peak) if max(peak) > own else None, "seconds": seconds}
