#!/usr/bin/env python3
"""The init containers of examples/kubernetes/indexed-job.yaml, without Kubernetes: four pods made of
namespaces, which run what the manifest says with what bundle.sh made, as an ordinary user, and find each
other by names that come and go. A pod's process namespace outlives its container, as the manifest asks.

    bootstrap_test.py BIN_DIRECTORY [unittest arguments]
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = f"{HERE}/../../../examples/kubernetes"
sys.path.insert(0, f"{HERE}/../launch")
import bed  # noqa: E402

SIZE = 4
MIB = 1 << 20
SOURCE_SIZE = 64 * MIB
BACKOFF = 1  # the kubelet's begins with 10 s
LIMIT = 90


def manifest(kind):
    with open(f"{EXAMPLES}/indexed-job.yaml", encoding="utf-8") as text:
        return next(one for one in yaml.safe_load_all(text) if one["kind"] == kind)


class Pod:
    """The place of one index: its volume, and its init container, which may be started again."""

    def __init__(self, job, index):
        self.job = job
        self.index = index
        self.models = f"{job.directory}/pod{index}"
        os.mkdir(self.models, 0o2775)
        os.chown(self.models, 0, bed.GID)
        os.chmod(self.models, 0o2775)  # what fsGroup makes of an emptyDir
        self.attempts = []

    def start(self):
        out = open(f"{self.job.directory}/pod{self.index}.{len(self.attempts)}", "wb")
        with out:
            process = BED.start(self.index + 1, self.job.command(self), stdout=out,
                                stderr=subprocess.STDOUT)
        self.attempts.append(process)

    @property
    def process(self):
        return self.attempts[-1]

    def output(self, attempt=-1):
        number = range(len(self.attempts))[attempt]
        with open(f"{self.job.directory}/pod{self.index}.{number}", encoding="utf-8") as text:
            return text.read()

    def launcher(self):
        """The wrapper, env and setpriv all exec: the pid is the launcher's."""
        return self.process.inner

    def kill(self):
        bed.kill(self.launcher())
        self.process.wait()

    def address(self, octet):
        """A pod that is replaced has another address."""
        bed.run("ip", "-n", f"n{self.index + 1}", "addr", "flush", "dev", "eth0")
        bed.run("ip", "-n", f"n{self.index + 1}", "addr", "add", f"10.88.0.{octet}/24", "dev", "eth0")

    def proven(self):
        """Extents that the journal of a running staging says are on disk."""
        count = 0
        for directory, _, files in os.walk(self.models):
            if "journal" not in files:
                continue
            with open(f"{directory}/journal", "rb") as journal:
                data = journal.read()
            at = 8  # after the magic; a record is its length, a kind and the rest, a checksum
            while at + 4 < len(data):
                count += data[at + 4:at + 5] == b"E"
                at += 4 + int.from_bytes(data[at:at + 4], "little") + 8
        return count


class Job:
    count = 0

    def __init__(self, rendezvous=60, keys=None):
        Job.count += 1
        self.directory = f"{TOP}/job{Job.count}"
        os.mkdir(self.directory, 0o755)
        self.config = f"{self.directory}/config"
        text = manifest("ConfigMap")["data"]["stage_model.toml"]
        mount(self.config, "stage_model.toml",
              text.replace("rendezvous_timeout_s = 1800", f"rendezvous_timeout_s = {rendezvous}"),
              0o644)
        self.keys = keys or {}
        container = manifest("Job")["spec"]["template"]["spec"]["initContainers"][0]
        self.arguments = container["command"]
        self.variables = {entry["name"]: entry["value"] for entry in container["env"]}
        self.pods = [Pod(self, index) for index in range(SIZE)]

    def command(self, pod):
        places = {"/opt/stage-model": PREFIX, "/etc/stage-model-key": self.keys.get(pod.index, KEY),
                  "/etc/stage-model": self.config, "az://myaccount/models/llama-405b/":
                  f"file://{TOP}/source/", "/models/llama-405b": f"{pod.models}/llama-405b"}
        arguments = []
        for argument in self.arguments:
            for old, new in places.items():
                if old in argument:
                    argument = argument.replace(old, new)
                    break
            arguments.append(argument)
        assert arguments != self.arguments
        if VERBOSE:
            arguments[1:1] = ["--verbose"]
        # What the webhook sets, and what the image of a training may set.
        variables = self.variables | {
            "JOB_COMPLETION_INDEX": str(pod.index), "AZURE_CLIENT_ID": "c", "AZURE_TENANT_ID": "t",
            "AZURE_FEDERATED_TOKEN_FILE": "/nowhere", "AZURE_AUTHORITY_HOST": "https://nowhere/",
            "PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": f"{TOP}/foreign", "OPAL_PREFIX": "/nowhere",
            "TMPDIR": "/tmp"}
        return ["setpriv", f"--reuid={bed.UID}", f"--regid={bed.GID}", "--clear-groups",
                "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs", "env", "-i",
                *(f"{name}={value}" for name, value in variables.items()), *arguments]

    def everything(self):
        return "\n".join(f"--- pod {pod.index}, attempt {attempt}\n{pod.output(attempt)}"
                         for pod in self.pods for attempt in range(len(pod.attempts)))

    def wait_for(self, condition, limit=LIMIT):
        deadline = time.monotonic() + limit
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {limit} s:\n{self.everything()}")
            time.sleep(0.02)

    def wait(self):
        self.wait_for(lambda: all(pod.process.poll() is not None for pod in self.pods))
        return [pod.process.returncode for pod in self.pods]

    def stop(self):
        for pod in self.pods:
            for process in pod.attempts:
                if process.poll() is None:
                    bed.kill(process.inner)
                    process.wait()


def mount(directory, name, text, mode, group=0):
    """A ConfigMap or Secret as the kubelet mounts it: through two links."""
    os.makedirs(f"{directory}/..2026", 0o755)
    with open(f"{directory}/..2026/{name}", "w", encoding="ascii") as out:
        out.write(text)
    os.chown(f"{directory}/..2026/{name}", 0, group)
    os.chmod(f"{directory}/..2026/{name}", mode)
    os.symlink("..2026", f"{directory}/..data")
    os.symlink(f"..data/{name}", f"{directory}/{name}")
    return directory


class Names:
    """The headless service, as far as the resolver sees it."""

    def __init__(self, path):
        self.path = path
        self.table = {}
        with open("/etc/hosts", encoding="utf-8") as hosts:
            self.head = hosts.read()
        self.write()
        bed.run("mount", "--bind", path, "/etc/hosts")

    def write(self):
        lines = [f"10.88.0.{octet} train-{index}.train" for index, octet in self.table.items()]
        with open(self.path, "w", encoding="utf-8") as hosts:
            hosts.write(self.head + "\n".join(lines) + "\n")

    def publish(self, index, octet=None):
        self.table[index] = octet or index + 1
        self.write()

    def clear(self):
        self.table = {}
        self.write()


class Bootstrap(unittest.TestCase):
    def job(self, **options):
        job = Job(**options)
        self.addCleanup(job.stop)
        self.addCleanup(NAMES.clear)
        return job

    def assert_staged(self, job):
        self.assertEqual(job.wait(), [0] * SIZE, job.everything())
        for pod in job.pods:
            subprocess.run(["cmp", f"{TOP}/source/weights", f"{pod.models}/llama-405b/weights"],
                           check=True)
            self.assertEqual(os.stat(f"{pod.models}/llama-405b/weights").st_uid, bed.UID)

    def test_late_names_and_late_pods(self):
        job = self.job()
        for index in (2, 1):  # before index 0, and before any name is known
            job.pods[index].start()
        time.sleep(2)
        for index in range(SIZE - 1):
            NAMES.publish(index)  # index 0's without the pod: it is there, but not up yet
        time.sleep(10)
        job.pods[0].start()
        time.sleep(10)
        self.assertEqual([pod.process.poll() for pod in job.pods[:3]], [None] * 3, job.everything())
        NAMES.publish(3)
        job.pods[3].start()
        self.assert_staged(job)

    def test_restarts_in_the_rendezvous(self):
        job = self.job()
        for index in range(SIZE):
            NAMES.publish(index)
        for pod in job.pods[:3]:
            pod.start()
        self.wait_until_linked(job, (1, 2))
        # A leaf, twice.
        for _ in range(2):
            job.pods[1].kill()
            job.pods[1].start()
            self.wait_until_linked(job, (1,))
        # Index 0, and its pod is replaced: another address, which its name tells only later.
        job.pods[0].kill()
        job.pods[0].address(101)
        self.addCleanup(job.pods[0].address, 1)
        job.pods[0].start()
        time.sleep(3)
        NAMES.publish(0, 101)
        self.wait_until_linked(job, (1, 2))
        job.pods[3].start()
        self.assert_staged(job)
        self.assertEqual([len(pod.attempts) for pod in job.pods], [2, 3, 1, 1])

    def wait_until_linked(self, job, indexes):
        """Until these launchers have a connection to index 0, authenticated or about to be."""
        root = 101 if job.pods[0].index in NAMES.table and NAMES.table[0] == 101 else 1
        for index in indexes:
            def linked(index=index):
                found = subprocess.run(["ip", "netns", "exec", f"n{index + 1}", "ss", "-Htn", "state",
                                        "established", "dst", f"10.88.0.{root}"],
                                       capture_output=True, text=True, check=True)
                return found.stdout.strip() != ""
            job.wait_for(linked)
        time.sleep(0.5)

    def test_an_engine_dies_and_the_second_attempt_resumes(self):
        job = self.job()
        for index in range(SIZE):
            NAMES.publish(index)
        # The one pod that sees the source sends slowly, so that there is a middle.
        bed.run("ip", "netns", "exec", "n1", "tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate",
                "100mbit", "burst", "64kb", "latency", "50ms")
        try:
            for pod in job.pods:
                pod.start()
            job.wait_for(lambda: min(pod.proven() for pod in job.pods) > 8)
            bed.kill(bed.child_of(job.pods[2].launcher()))
            codes = job.wait()
        finally:
            bed.run("ip", "netns", "exec", "n1", "tc", "qdisc", "del", "dev", "eth0", "root")
        self.assertEqual(codes, [8] * SIZE, job.everything())
        for pod in job.pods:
            self.assertIn("train-2.train: the engine was killed by signal 9", pod.output())
            self.assertFalse(os.path.exists(f"{pod.models}/llama-405b"))
        time.sleep(BACKOFF)
        for pod in reversed(job.pods):
            pod.start()
            time.sleep(0.3)
        self.assert_staged(job)
        moved = [int(line.split()[1]) for line in job.pods[0].output().splitlines()
                 if line.startswith("[bcast]")]
        # Eight chunks (512 KiB at this size) were proven everywhere, so they are not moved again.
        self.assertLessEqual(moved[0], SOURCE_SIZE - 8 * MIB // 2, job.everything())

    def test_one_pod_has_another_key(self):
        other = mount(f"{TOP}/other-key", "key", "b" * 64, 0o440, bed.GID)
        job = self.job(rendezvous=6, keys={2: other})
        for index in range(SIZE):
            NAMES.publish(index)
        start = time.monotonic()
        for pod in job.pods:
            pod.start()
        self.assertEqual(job.wait(), [8] * SIZE, job.everything())
        self.assertGreater(time.monotonic() - start, 5)
        for index in (0, 1, 3):
            self.assertIn("no launcher came within 6 s from train-2.train (the other launcher has a "
                          "different key file)", job.pods[index].output())
        self.assertIn("refused this one's credential", job.pods[2].output())

    def test_a_key_that_the_pod_may_not_read(self):
        # Without fsGroup a Secret is root's.
        for mode, group, message in ((0o400, 0, "Permission denied"), (0o444, 0, "others can read")):
            key = mount(f"{TOP}/key-{mode:o}", "key", "a" * 64, mode, group)
            job = self.job(keys={1: key})
            job.pods[1].start()
            job.wait_for(lambda job=job: job.pods[1].process.poll() is not None)
            self.assertEqual(job.pods[1].process.returncode, 2)
            self.assertIn(message, job.pods[1].output())


bed.enter_outer()
VERBOSE = "--verbose" in sys.argv
if VERBOSE:
    sys.argv.remove("--verbose")
TOP = tempfile.mkdtemp(prefix="stage-k8s.")
os.chmod(TOP, 0o755)
PREFIX = f"{TOP}/opt/stage-model"
code = 1
try:
    subprocess.run([f"{EXAMPLES}/bundle.sh", os.path.abspath(sys.argv[1]), PREFIX], check=True)
    # Libraries of the image under the names of ours: whoever loads one of them fails.
    os.mkdir(f"{TOP}/foreign")
    for library in ("libmpi.so.40", "libpmix.so.2", "libopen-pal.so.40", "libcurl.so.4"):
        with open(f"{TOP}/foreign/{library}", "wb") as out:
            out.write(b"not a library")
    os.mkdir(f"{TOP}/source")
    with open(f"{TOP}/source/weights", "wb") as out:
        for _ in range(SOURCE_SIZE // MIB):
            out.write(os.urandom(MIB))
    KEY = mount(f"{TOP}/key", "key", "a" * 64, 0o440, bed.GID)
    NAMES = Names(f"{TOP}/hosts")
    BED = bed.Bed(SIZE, TOP)
    for node in range(2, SIZE + 1):  # only pod 0 sees the source
        BED.start(node, ["mount", "-t", "tmpfs", "tmpfs", f"{TOP}/source"]).wait()
    program = unittest.main(argv=[sys.argv[0], "-v", *sys.argv[2:]], exit=False)
    code = 0 if program.result.wasSuccessful() else 1
finally:
    subprocess.run(["umount", "/etc/hosts"], check=False)
    shutil.rmtree(TOP, ignore_errors=True)
sys.exit(code)
