"""A small real Slurm on the nodes, for the baseline with sbcast. Its traffic goes over the first rail."""

import os
import subprocess
import time

from . import bed as bed_module
from . import procs, source
from .baselines import RCLONE

CONFIGURATION = """
ClusterName=bench
SlurmctldHost=hub({hub})
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation={home}/state
SlurmdSpoolDir={home}/spool/%n
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/spool/%n.pid
SlurmctldLogFile={home}/slurmctld.log
SlurmdLogFile={home}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,bf_interval=1
ReturnToService=2
SlurmdTimeout=300
MessageTimeout=60
InactiveLimit=0
TreeWidth=65533
"""

# More files than this go as one tar: sbcast takes one file at a time, and some 0.2 s for each.
MOST_FILES = 600
WHO = ["env", "-u", "SLURM_CONF"]


def prepare(work, nodes):
    """The files that must stand before the nodes are there. In the hub's namespaces."""
    home = f"{work}/slurm"
    for sub in ("state", "spool", "etc"):
        os.makedirs(f"{home}/{sub}", exist_ok=True)
    os.makedirs(f"{work}/munge", exist_ok=True)
    with open(f"{work}/munge/key", "wb") as file:
        os.chmod(file.name, 0o600)
        file.write(os.urandom(128))
    with open(f"{home}/etc/slurm.conf", "w") as file:
        file.write(CONFIGURATION.format(home=home, hub=bed_module.HUB))
        for k in range(1, nodes + 1):
            file.write(f"NodeName=n{k} NodeAddr=10.92.0.{k} CPUs=4 RealMemory=100 State=UNKNOWN\n")
        file.write(f"PartitionName=main Nodes=n[1-{nodes}] Default=YES State=UP\n")
    with open(f"{home}/etc/cgroup.conf", "w") as file:
        # slurmd 22.05 loads a cgroup plugin even when nothing uses it; finding one by itself fails here.
        file.write("CgroupPlugin=cgroup/v1\n")
    os.makedirs("/run/munge")
    bed_module.run(["mount", "--bind", f"{work}/munge", "/run/munge"])
    os.makedirs("/etc/slurm", exist_ok=True)
    bed_module.run(["mount", "--bind", f"{home}/etc", "/etc/slurm"])


def start(bed):
    work = bed.work
    bed_module.run(["munged", "--force", f"--key-file={work}/munge/key",
                    f"--pid-file={work}/munge/pid", f"--log-file={work}/log/munge.log",
                    f"--seed-file={work}/munge/seed"])

    def daemon(name, command):
        with open(f"{work}/log/{name}", "wb") as log:
            subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    daemon("slurmctld", [*WHO, "slurmctld", "-D", "-c"])
    for node in bed.nodes:
        os.makedirs(f"{work}/slurm/spool/{node.name}", exist_ok=True)
        daemon(f"slurmd.{node.name}", node.enter(*WHO, "slurmd", "-D", "-N", node.name))
    for _ in range(300):
        idle = subprocess.run([*WHO, "sinfo", "-h", "-t", "idle", "-o", "%D"],
                              capture_output=True, text=True)
        if idle.stdout.strip() == str(bed.count):
            break
        time.sleep(0.2)
    else:
        raise bed_module.BedError(f"slurm: not all nodes came up (logs: {work}/slurm)")
    bed_module.run([*WHO, "salloc", "-Q", "-N", str(bed.count), "--no-shell"], cwd="/")


def sbcast(bed, expected, limit):
    """Node 1 downloads all with rclone, into its memory; then sbcast brings each file to all nodes."""
    place, memory = f"{bed.work}/disk/model", "/dev/shm/model"
    names = [os.path.relpath(os.path.join(parent, name), expected)
             for parent, _, files in os.walk(expected) for name in files]
    job = bed_module.run([*WHO, "squeue", "-h", "-o", "%i"]).split()[0]
    first = bed.nodes[0]
    first.run("rm", "-rf", memory)
    for node in bed.nodes:
        node.run("mkdir", "-p", place, *{f"{place}/{os.path.dirname(name)}" for name in names})
    with open(f"{bed.work}/names", "w") as file:
        file.write("\n".join(names) + "\n")
    if bed.variant.local:
        fetch = f"ln -s {bed.work}/seen {memory}"
    elif bed.variant.held:
        fetch = f"ln -s {expected} {memory}"  # node 1 has it
    else:
        fetch = f"{' '.join(RCLONE)} --http-url {source.PLAIN} :http: {memory}"
    if len(names) <= MOST_FILES:
        send = (f"while read -r name; do sbcast -f -F 2 {memory}/$name {place}/$name || exit 1; "
                f"done <{bed.work}/names")
    else:
        send = (f"tar -C {memory} -chf /dev/shm/model.tar . && "
                f"sbcast -f -F 2 /dev/shm/model.tar {place}/model.tar")
    commands = [first.enter(*WHO, "env", "HOME=/run", f"SLURM_JOB_ID={job}", "sh", "-c",
                            f"{fetch} && {send}")]
    logs = [f"{bed.work}/log/{node.name}.sbcast" for node in bed.nodes]
    environment = {"PATH": os.environ["PATH"]}
    result = procs.together(commands, limit, logs, environment)
    finish = f"sync -f {bed.work}/disk"
    if len(names) > MOST_FILES:
        finish = f"cd {place} && tar -xf model.tar && rm model.tar && " + finish
    last = procs.together([node.enter("sh", "-c", finish) for node in bed.nodes], limit, logs,
                          environment)
    first.run("rm", "-rf", memory, "/dev/shm/model.tar")
    for key in ("wall_s", "cpu_s", "machine_cpu_s"):
        result[key] += last[key]
    return result
