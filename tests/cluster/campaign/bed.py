"""The cluster that a campaign hurts: four nodes of tests/cluster with a small model in its store."""

import os
import pathlib
import shlex
import subprocess
import sys
import time
import zlib

TESTS = pathlib.Path(__file__).resolve().parents[2]
CLUSTER = TESTS / "cluster" / "cluster"
SUPPORT = TESTS / "support"
NODES = 4
MODEL_MIB = 64
RATE = "160mbit"  # staging the model then takes about four seconds
PROXY_PORT = 10001

# What a hung or lost part may cost is bounded by these, so that a round ends.
CONFIG = [
    "limits.deadline_s = 60",
    "limits.rendezvous_timeout_s = 20",
    "limits.stall_timeout_s = 10",
]
SLURM_CONF = "SlurmctldTimeout=60\nSlurmdTimeout=10\nMessageTimeout=10\nKillWait=2\n"

CHECK = """#!/bin/bash
# Prints "HOST equal" where every file of the model is there with its bytes and nothing else is.
cd "${1:-$STAGE_MODEL_DIR}" || { echo "$(hostname) DIFFERS: no directory '${1:-$STAGE_MODEL_DIR}'"; exit 1; }
if difference=$(find . -type f ! -path './.stage-model/*' -print0 | LC_ALL=C sort -z |
  xargs -0 sha256sum | diff - SUMS 2>&1); then
  echo "$(hostname) equal"
else
  echo "$(hostname) DIFFERS: $(head -n 2 <<<"$difference" | tr '\\n' ' ')"
fi
"""


class Bed:
    """Owner of the cluster; down() ends it, whatever happened."""

    def __init__(self, directory=None):
        name = zlib.crc32(str(TESTS).encode())
        self.dir = pathlib.Path(directory or f"/tmp/stage-campaign.{name}")
        self.env = dict(os.environ, STAGE_CLUSTER_DIR=str(self.dir))
        self.models = self.dir / "nvme" / "models"
        self.work = self.dir / "home" / "campaign"
        self.url = None  # of the model, once there is one
        self.variables = {}
        self.background = []

    # ---- commands

    def cluster(self, *arguments, check=True, timeout=60, **options):
        """Runs `cluster ARGUMENTS`; its stdout. Raises what subprocess raises."""
        done = subprocess.run(
            [str(CLUSTER), *map(str, arguments)],
            env=dict(self.env, **self.variables), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=options.pop("stderr", subprocess.PIPE),
            text=True, timeout=timeout, cwd=options.pop("cwd", "/"), **options)
        if check and done.returncode != 0:
            raise RuntimeError(f"cluster {shlex.join(map(str, arguments))}: exit "
                               f"{done.returncode}: {(done.stderr or '').strip()[-300:]}")
        return done.stdout.strip()

    def slurm(self, *command, check=True, timeout=30):
        return self.cluster("exec", *command, check=check, timeout=timeout)

    def user(self, name, *command, check=True, timeout=30):
        return self.cluster("as", name, *command, check=check, timeout=timeout, cwd=str(self.work))

    def node(self, k, *command, check=False, timeout=30):
        return self.cluster("node", k, *command, check=check, timeout=timeout)

    def start(self, *arguments):
        """A daemon inside the cluster: ends with the cluster."""
        log = open(self.dir / "log" / "campaign.daemons", "ab")
        self.background.append(subprocess.Popen(
            [str(CLUSTER), *map(str, arguments)], env=self.env, stdin=subprocess.DEVNULL,
            stdout=log, stderr=log, start_new_session=True, cwd="/"))

    # ---- up and down

    def up(self):
        self.cluster("down", timeout=120)
        self.env["STAGE_CLUSTER_SLURM_CONF"] = SLURM_CONF
        self.env["STAGE_CLUSTER_CONFIG"] = "\n".join(CONFIG)
        self.env["STAGE_CLUSTER_DISK"] = "1G"
        self.cluster("up", NODES, timeout=180)
        self.work.mkdir(mode=0o777)
        self.work.chmod(0o777)
        self.make_model()
        self.start("exec", sys.executable, SUPPORT / "broken_proxy.py", PROXY_PORT,
                   self.dir / "proxy")
        self.cluster("rate", RATE)

    def make_model(self):
        model = self.work / "model"
        subprocess.run([sys.executable, SUPPORT / "demo_model.py", model, str(MODEL_MIB)], check=True)
        sums = subprocess.run(
            "find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum", shell=True, cwd=model,
            check=True, stdout=subprocess.PIPE).stdout
        (self.work / "sums").write_bytes(sums)
        check = self.work / "check_model"
        check.write_text(CHECK.replace("SUMS", str(self.work / "sums")))
        check.chmod(0o755)
        key = (self.dir / "azurite" / "key").read_text()
        account = "stagedemo"
        store = {"AZURE_STORAGE_ACCOUNT": account, "AZURE_STORAGE_KEY": key}
        direct = dict(store, AZURE_STORAGE_BLOB_ENDPOINT=f"http://10.77.0.1:10000/{account}")
        self.variables = direct
        self.cluster("exec", sys.executable, SUPPORT / "azure_blob.py", "put", model,
                     "models/campaign/", timeout=120)
        self.url = f"az://{account}/models/campaign/"
        self.variables = dict(
            store, AZURE_STORAGE_BLOB_ENDPOINT=f"http://10.77.0.1:{PROXY_PORT}/{account}")

    def down(self):
        self.cluster("down", timeout=120)
        for process in self.background:
            process.wait(30)

    # ---- what tests ask

    def store(self, mode):
        """How the store behaves: see tests/support/broken_proxy.py."""
        path = self.dir / "proxy"
        path.with_suffix(".new").write_text(mode)
        path.with_suffix(".new").rename(path)

    def submit(self, user, nodes, name, *options):
        """A job that says at its start and for each node what the node holds. Its id."""
        output = self.work / f"{name}.out"
        script = f"echo STARTED; srun -n{nodes} --ntasks-per-node=1 {self.work}/check_model"
        job = self.user(user, "sbatch", "--parsable", f"-N{nodes}", f"-n{nodes}", "-o", output,
                        f"--stage-model={self.url}", *options, "--wrap", script)
        return Job(self, job.split(";")[0], user, nodes, output)

    def eventually(self, seconds, condition, pause=0.3):
        end = time.monotonic() + seconds
        while True:
            try:
                if condition():
                    return True
            except (RuntimeError, subprocess.TimeoutExpired):
                pass
            if time.monotonic() > end:
                return False
            time.sleep(pause)


class Job:
    """One submitted job."""

    ENDED = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "DEADLINE"}

    def __init__(self, bed, number, user, nodes, output):
        self.bed, self.number, self.user, self.nodes, self.output = bed, number, user, nodes, output

    def state(self):
        text = self.bed.slurm("scontrol", "-o", "show", "job", self.number)
        fields = dict(item.split("=", 1) for item in text.split() if "=" in item)
        return fields.get("JobState", "?")

    def ended(self):
        return self.state() in self.ENDED

    def printed(self):
        try:
            return self.output.read_text(errors="replace")
        except FileNotFoundError:
            return ""
