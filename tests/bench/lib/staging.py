"""What is measured: stage-launch by hand on every node, and in it stage-engine."""

import json
import os
import secrets
import shutil
import subprocess

from . import procs, source

# The engine runs as an ordinary user, as in a job.
USER = 65534
VERIFY = os.path.join(os.path.dirname(os.path.realpath(__file__)), "verify.py")


class Staging:
    def __init__(self, bed, options):
        self.bed, self.options = bed, options
        self.key = f"{bed.work}/key"
        with open(self.key, "w") as file:
            os.chmod(self.key, 0o600)
            file.write(secrets.token_hex(32) + "\n")
        self.destination = f"{bed.work}/disk/model"
        self.jobs = 100

    def clean(self, nodes):
        for node in nodes:
            node.run("sh", "-c", f"rm -rf {self.bed.work}/disk/* {self.bed.work}/disk/.stage-model-*")
        self.bed.trim()

    def run(self, nodes, limit, extra=(), trace=None):
        """One staging onto these nodes. The engine's report is in "report"."""
        self.jobs += 1
        bed, out = self.bed, f"{self.bed.work}/out"
        report = f"{out}/report.{self.jobs}.json"
        listed = ",".join(f"{n.name}=10.90.0.{n.name[1:]}" for n in nodes)
        engine = ["--json", report, *extra, *self.options]
        if trace:
            engine += ["--trace", f"{out}/trace.json"]
        if bed.variant.download and "--download-ranks" not in engine:
            engine += ["--download-ranks", str(bed.variant.download)]
        url = f"file://{bed.work}/seen/" if bed.variant.local else source.URL
        commands = [
            node.enter(
                f"{bed.work}/bin/stage-launch", "--no-config", "--job", str(self.jobs),
                "--index", str(k), "--nodes", listed, "--key-file", self.key,
                "--uid", str(USER), "--gid", str(USER),
                "--credential-env", "AZURE_STORAGE_BLOB_ENDPOINT",
                "--", url, self.destination, *engine)
            for k, node in enumerate(nodes)]
        logs = [f"{bed.work}/log/{node.name}.engine" for node in nodes]
        before = bed.traffic()
        result = procs.together(commands, limit, logs, {
            "PATH": os.environ["PATH"],
            "OMPI_MCA_btl_tcp_if_include": ",".join(bed.rails),
            "AZURE_STORAGE_BLOB_ENDPOINT": source.ENDPOINT,
            **{k: v for k, v in os.environ.items() if k.startswith("OMPI_MCA_")},
        })
        after = bed.traffic()
        with open(report) as file:
            result["report"] = json.load(file)
        result["engine_s"] = result["report"]["stages"]["total"]["seconds"]
        result["source_bytes"] = after["source"] - before["source"]
        result["fabric_bytes_max"] = max(
            a - b for way in ("fabric_sent", "fabric_received")
            for a, b in zip(after[way], before[way]))
        if trace:
            shutil.copy(f"{out}/trace.json", trace)
        return result


def verify(bed, expected, destination):
    """Every node holds the same, correct files, or a RunError names what is wrong."""
    checks = []
    for node in bed.nodes:
        checks.append((node, subprocess.Popen(
            node.enter("/usr/bin/python3", VERIFY, expected, destination),
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)))
    for node, check in checks:
        _, error = check.communicate()
        if check.returncode != 0:
            raise procs.RunError(f"{node.name}: wrong files: {error.strip()}")
