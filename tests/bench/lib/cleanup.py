"""What the end of the namespaces does not take with it: throttles, loop devices, the directory."""

import os
import shutil
import subprocess

PREFIX = "stage-bench."
THROTTLE = "/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device"


def start_time(pid):
    """A pid alone may have been given to another process."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[19]
    except OSError:
        return None


def claim(work):
    with open(f"{work}/owner", "w") as file:
        file.write(f"{os.getpid()} {start_time(os.getpid())}\n")


def remove(work):
    """After the namespaces of `work` have ended."""
    try:
        with open(f"{work}/throttled") as file:
            numbers = set(file.read().split())
    except OSError:
        numbers = set()
    for number in numbers:
        try:
            with open(THROTTLE, "w") as file:
                file.write(f"{number} 0")
        except OSError:
            pass
    loops = subprocess.run(["losetup", "-n", "-l", "-O", "NAME,BACK-FILE"],
                           capture_output=True, text=True).stdout
    for line in loops.splitlines():
        name, *file = line.split()
        # Seen from out here the image has no path any more; its name is what is left of it.
        if file and "/".join(work.split("/")[-1:]) in file[0]:
            subprocess.run(["losetup", "-d", name], capture_output=True)
    shutil.rmtree(work, ignore_errors=True)


def remove_abandoned():
    """Of a run that was killed so that it could not clean up."""
    for name in os.listdir("/tmp"):
        if not name.startswith(PREFIX):
            continue
        work = f"/tmp/{name}"
        try:
            with open(f"{work}/owner") as file:
                pid, started = file.read().split()
        except (OSError, ValueError):
            continue
        if start_time(pid) != started:
            remove(work)
