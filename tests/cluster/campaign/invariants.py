"""What must hold after every round, whatever was done to it. Each yields what is wrong, as lines."""

import time

from .bed import NODES

QUIET = 30  # seconds after the jobs' end in which all that staged must have gone
STAGERS = r"stage-launch|stage-engine|slurmstepd spank"


def jobs_end(bed, context):
    """Every job ends: no hang, no requeue for ever."""
    for job in context.jobs:
        if not bed.eventually(150, job.ended, pause=0.5):
            yield f"job {job.number} of {job.user} is {job.state()} 150 s after the fault was healed"
            bed.slurm("scancel", job.number, check=False)


def jobs_read_exact_bytes(bed, context):
    """User code ran only over the exact bytes on all its nodes."""
    for job in context.jobs:
        printed = job.printed().splitlines()
        for line in printed:
            if "DIFFERS" in line:
                yield f"job {job.number} read wrong bytes: {line}"
        if job.state() == "COMPLETED":
            # After a requeue the output of the last run counts.
            starts = [i for i, line in enumerate(printed) if line == "STARTED"]
            last = printed[starts[-1]:] if starts else printed
            equal = [line for line in last if line.endswith(" equal")]
            if len(equal) != job.nodes:
                yield (f"job {job.number} completed, and {len(equal)} of its {job.nodes} nodes "
                       f"had the model: {printed[-3:]}")


def nothing_runs(bed, context):
    """Nothing of a staging runs 30 s after its job."""
    def running():
        return [(k, line) for k in range(1, NODES + 1)
                for line in bed.node(k, "pgrep", "-af", STAGERS).splitlines()
                if "pgrep" not in line]

    if not bed.eventually(QUIET, lambda: not running()):
        for k, line in running():
            yield f"node {k}: still running: {line}"


def nodes_are_well(bed, context):
    """No node drained that stands."""
    def idle():
        return bed.slurm("sinfo", "-h", "-t", "idle", "-o", "%D") == str(NODES)

    if not bed.eventually(60, idle, pause=0.5):
        for line in bed.slurm("sinfo", "-h", "-N", "-o", "%N %T %E").splitlines():
            yield f"not idle: {line}"
        bed.slurm("scontrol", "update", f"nodename=n[1-{NODES}]", "state=resume", check=False)
    for line in bed.slurm("sinfo", "-h", "-R").splitlines():
        yield f"has a reason: {line}"


def final_directories_are_exact(bed, context):
    """Every directory under a final name is exact."""
    for k in range(1, NODES + 1):
        text = bed.node(k, "sh", "-c", f"for d in {bed.models}/*/[!.]*; do [ -d \"$d\" ] && "
                        f"[ ! -L \"$d\" ] && {bed.work}/check_model \"$d\"; done", timeout=60)
        for line in text.splitlines():
            if "DIFFERS" in line:
                yield f"node {k}: {line}"


def nothing_is_left(bed, context):
    """No record, mount, socket, table or shared memory is left."""
    for k in range(1, NODES + 1):
        left = bed.node(k, "sh", "-c",
                        "ls -d /run/stage-model/* /dev/shm/* /tmp/*stage-model*/n$0.* 2>/dev/null; "
                        "grep -E 'stage-model|stage_model' /proc/mounts | cut -d' ' -f2; "
                        "command -v nft >/dev/null && nft list tables | grep stage; "
                        "ss -Htlnp | grep -E 'stage-(launch|engine)'", str(k))
        for line in left.splitlines():
            if str(bed.dir) not in line.split(" ")[0]:
                yield f"node {k}: left: {line}"


def next_job_works(bed, context):
    """The next job stages the model and reads it."""
    job = bed.submit("alice", NODES, context.name + ".next")
    context.jobs.append(job)
    if not bed.eventually(90, job.ended):
        yield f"the next job is {job.state()} after 90 s"
        bed.slurm("scancel", job.number, check=False)
        return
    equal = sorted(line for line in job.printed().splitlines() if line.endswith(" equal"))
    if job.state() != "COMPLETED" or len(equal) != NODES:
        yield f"the next job is {job.state()}, printed {job.printed().splitlines()[-4:]}"


ALL = [jobs_end, jobs_read_exact_bytes, nothing_runs, nodes_are_well, final_directories_are_exact,
       nothing_is_left, next_job_works, jobs_read_exact_bytes, final_directories_are_exact]


def wipe(bed):
    """Nodes as new machines have them."""
    for k in range(1, NODES + 1):
        bed.node(k, "sh", "-c", f"rm -rf {bed.models}/* {bed.models}/.[!.]*")


def check_all(bed, context):
    """Every violation, as text; each with its rule's words."""
    found = []
    for rule in ALL:
        began = time.monotonic()
        for violation in rule(bed, context):
            found.append(f"{rule.__doc__.splitlines()[0]} VIOLATED: {violation}")
        context.spent[rule.__name__] = time.monotonic() - began
    return found
