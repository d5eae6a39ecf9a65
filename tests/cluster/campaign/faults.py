"""What a campaign does to a staging. A fault is applied once, may hold for a while, and is healed.

Each is a function of (bed, random, context) that applies it and returns a function that heals it, or
None. `context` is the round's: .jobs (what was submitted), .node (the node that is hit, 1..4).
"""

import time

ALL = {}
# Rounds of CI leave these out: each costs a minute.
SLOW = set()


def fault(function):
    ALL[function.__name__] = function
    return function


def slow(function):
    SLOW.add(function.__name__)
    return fault(function)


# ---- processes

PROGRAMS = {"engine": "stage-engine", "launcher": "stage-launch", "hook": "slurmstepd"}


def pids(bed, k, program):
    text = bed.node(k, "pgrep", "-f" if program == "slurmstepd" else "-x",
                    "slurmstepd spank prolog" if program == "slurmstepd" else program)
    return [int(word) for word in text.split()]


def signal_program(bed, k, which, name):
    found = pids(bed, k, PROGRAMS[which])
    for pid in found:
        bed.node(k, "kill", f"-{name}", pid)
    return found


def make_signal_fault(which, name):
    def apply(bed, random, context):
        found = signal_program(bed, context.node, which, name)
        if name != "STOP":
            return None

        def heal():
            for pid in found:
                bed.node(context.node, "kill", "-CONT", pid)
        time.sleep(random.choice([3, 12]))  # shorter and longer than the heartbeat's limit
        return heal

    apply.__name__ = f"{which}_{name.lower()}"
    return apply


for _which in PROGRAMS:
    for _name in ("KILL", "STOP", "SEGV"):
        fault(make_signal_fault(_which, _name))


@fault
def two_engines_killed(bed, random, context):
    other = context.node % 4 + 1
    signal_program(bed, context.node, "engine", "KILL")
    signal_program(bed, other, "engine", "KILL")


# ---- nodes and links


@fault
def power_loss(bed, random, context):
    bed.cluster("kill-node", context.node)
    time.sleep(random.choice([0.5, 3, 12]))

    def heal():
        bed.cluster("start-node", context.node, timeout=90)
    return heal


def link_down(bed, k, seconds):
    bed.node(k, "ip", "link", "set", "eth0", "down")
    time.sleep(seconds)
    bed.node(k, "ip", "link", "set", "eth0", "up")


@fault
def link_down_2s(bed, random, context):
    link_down(bed, context.node, 2)


@fault
def link_down_20s(bed, random, context):
    link_down(bed, context.node, 20)


@fault
def packet_loss(bed, random, context):
    for line in ("add table inet campaign",
                 "add chain inet campaign in { type filter hook input priority 0; }",
                 "add rule inet campaign in numgen random mod 100 < 1 drop"):
        bed.node(context.node, "nft", line, check=True)

    def heal():
        bed.node(context.node, "nft", "delete table inet campaign")
    return heal


# ---- the store


def make_store_fault(mode, seconds):
    def apply(bed, random, context):
        bed.store(mode)
        time.sleep(random.choice(seconds))

        def heal():
            bed.store("pass")
        return heal

    apply.__name__ = "store_" + mode.split()[0]
    return apply


for _mode, _seconds in (("busy 0.3", [2, 5]), ("reset", [0.3, 2]), ("stall", [2, 12]),
                        ("refuse", [1, 5])):
    fault(make_store_fault(_mode, _seconds))


# ---- disks


@fault
def disk_full(bed, random, context):
    filler = bed.dir / "nvme" / "filler"
    bed.node(context.node, "sh", "-c", f"fallocate -l $(($(df -B1 --output=avail {bed.dir}/nvme | "
             f"tail -n 1) - 1000000)) {filler}")
    time.sleep(random.choice([0.5, 4]))

    def heal():
        bed.node(context.node, "rm", "-f", filler)
    return heal


@fault
def disk_hung(bed, random, context):
    mount = bed.dir / "nvme"
    bed.node(context.node, "fsfreeze", "--freeze", mount)

    def heal():
        bed.node(context.node, "fsfreeze", "--unfreeze", mount)
    try:
        time.sleep(random.choice([2, 8, 25]))
    finally:
        heal()
    return heal


@fault
def disk_error(bed, random, context):
    """Every write ends with EIO (FS_IOC_GOINGDOWN); only a boot brings the disk back."""
    bed.node(context.node, "python3", "-c",
             "import fcntl, os, struct, sys\n"
             "fd = os.open(sys.argv[1], os.O_RDONLY)\n"
             "fcntl.ioctl(fd, 0x8004587d, struct.pack('I', 2))", bed.dir / "nvme", check=True)
    time.sleep(random.choice([1, 5]))

    def heal():
        bed.cluster("kill-node", context.node)
        bed.cluster("start-node", context.node, timeout=90)
    return heal


@fault
def disk_read_only(bed, random, context):
    """A bind mount that is read-only over the root: what is open goes on, what is new is refused."""
    bed.node(context.node, "sh", "-c", f"mount --bind {bed.models} {bed.models} && "
             f"mount -o remount,bind,ro {bed.models}", check=True)
    time.sleep(random.choice([1, 5]))

    def heal():
        bed.node(context.node, "umount", "-l", bed.models)
    return heal


# ---- daemons


def slurmd_pid(bed, k):
    return bed.node(k, "pgrep", "-o", "-x", "slurmd")


@fault
def slurmd_restarted(bed, random, context):
    k = context.node
    bed.node(k, "kill", random.choice(["-KILL", "-TERM"]), slurmd_pid(bed, k))
    time.sleep(random.choice([0.5, 3]))

    def heal():
        if not slurmd_pid(bed, k):
            bed.start("node", k, "slurmd", "-D", "-N", f"n{k}")
    return heal


def controller_pid(bed):
    return bed.slurm("pgrep", "-o", "-x", "slurmctld", check=False)


@fault
def slurmctld_restarted(bed, random, context):
    bed.slurm("kill", random.choice(["-KILL", "-TERM"]), controller_pid(bed))
    time.sleep(random.choice([0.5, 4]))

    def heal():
        if not controller_pid(bed):
            bed.start("exec", "slurmctld", "-D")
    return heal


@fault
def slurmctld_hangs(bed, random, context):
    pid = controller_pid(bed)
    bed.slurm("kill", "-STOP", pid)
    time.sleep(random.choice([3, 15]))

    def heal():
        bed.slurm("kill", "-CONT", pid)
    return heal


@fault
def munged_restarted(bed, random, context):
    def running():
        return bed.slurm("pgrep", "-o", "-x", "munged", check=False)

    if running():
        bed.slurm("kill", "-KILL", running())
    time.sleep(random.choice([0.5, 4]))

    def heal():
        if not running():
            munge = bed.dir / "munge"
            bed.slurm("munged", "--force", f"--key-file={munge}/key", f"--pid-file={munge}/pid",
                      f"--log-file={bed.dir}/log/munge.log", f"--seed-file={munge}/seed",
                      "--num-threads=4")
    return heal


@fault
def reconfigured(bed, random, context):
    bed.slurm("scontrol", "reconfigure")


# ---- users


@fault
def job_cancelled(bed, random, context):
    bed.user("alice", "scancel", context.jobs[0].number)


@fault
def job_requeued(bed, random, context):
    bed.slurm("scontrol", "requeue", context.jobs[0].number, check=False)


@slow
def time_limit(bed, random, context):
    bed.slurm("scontrol", "update", f"jobid={context.jobs[0].number}", "timelimit=1", check=False)


@fault
def user_deletes_what_is_built(bed, random, context):
    bed.node(context.node, "sh", "-c", f"rm -rf {bed.models}/alice/.stage-model-*")


@fault
def second_job(bed, random, context):
    context.jobs.append(bed.submit("alice", random.choice([2, 4]), f"{context.name}.{len(context.jobs)}"))


@fault
def second_user(bed, random, context):
    context.jobs.append(bed.submit("bob", random.choice([2, 4]), f"{context.name}.{len(context.jobs)}"))
