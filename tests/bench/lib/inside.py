"""One variant, from bringing up the nodes to its result. Runs as pid 1 of its own namespaces."""

import json
import os
import statistics
import subprocess
import sys
import time

from . import baselines, bed, bound, model, procs, regimes, slurm, source, staging


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def median(results, key):
    values = [r[key] for r in results if r.get(key) is not None]
    return statistics.median(values) if values else None


def mount_work(work, build):
    os.makedirs(f"{work}/mem", exist_ok=True)
    os.makedirs(f"{work}/bin", exist_ok=True)
    bed.run(["mount", "-t", "tmpfs", "-o", "mode=755,size=95%", "tmpfs", f"{work}/mem"])
    # Bound, the build can be reached by users who may not enter the checkout's parents.
    bed.run(["mount", "--bind", f"{build}/bin", f"{work}/bin"])
    # What is global in the machine's /run is not ours to write to.
    bed.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run"])


def choose_congestion_control(name):
    with open("/proc/sys/net/ipv4/tcp_congestion_control", "w") as file:
        file.write(name)


class Bench:
    def __init__(self, options):
        self.options = options
        self.work = options["work"]
        self.variant = next(v for v in regimes.TABLE if v.name == options["variant"])
        self.nodes = options["nodes"]

    def limit(self, seconds):
        """After this long something hangs: generous, since a wrong answer is worse than a late one."""
        return 60 + 20 * seconds

    def prepare(self):
        mount_work(self.work, self.options["build"])
        sizes = model.sizes_of(self.variant.files, self.options["scale"])
        self.size = sum(sizes)
        self.expected, self.names = source.prepare(self.work, sizes)
        wires = self.options["wires"]
        self.terms = {name: seconds / wires for name, seconds in
                      bound.bound(self.variant, self.nodes, self.size).items()}
        self.bound = max(self.terms.values())
        with_slurm = "sbcast" in self.options["baselines"]
        if with_slurm:
            slurm.prepare(self.work, self.nodes)
        # Room for the model, a second copy beside it, and the file system itself.
        disk = 3 * self.size + 10_000 * len(sizes) + (256 << 20)
        self.bed = bed.Bed(self.variant, self.nodes, self.work, wires, disk,
                           seen=self.expected if self.variant.local else None)
        self.server = source.start(self.bed)
        self.staging = staging.Staging(self.bed, self.options["engine_options"])
        if with_slurm:
            slurm.start(self.bed)
        held = regimes.holders(self.variant, self.nodes)
        self.holders, self.others = self.bed.nodes[:held], self.bed.nodes[held:]

    def engine(self, what, extra=(), trace=None):
        held = bool(self.holders) and not self.held_ready
        if held:
            say(f"{self.variant.name}: {len(self.holders)} nodes get the model beforehand")
            self.staging.clean(self.bed.nodes)
            self.staging.run(self.holders, self.limit(self.bound * 2))
            self.held_ready = True
        self.staging.clean(self.others if self.holders else self.bed.nodes)
        # Staged needs the sum of what overlaps otherwise.
        result = self.staging.run(self.bed.nodes, self.limit(sum(self.terms.values())), extra, trace)
        staging.verify(self.bed, self.expected, self.staging.destination)
        say(f"{self.variant.name}: {what} {result['engine_s']:.2f} s "
            f"(launchers {result['wall_s']:.2f} s, bound {self.bound:.2f} s)")
        return result

    def baseline(self, what, function, limit):
        self.staging.clean(self.bed.nodes)
        self.held_ready = False
        try:
            result = function(self.bed, self.expected, limit)
        except procs.RunError as error:  # our own figures are not lost by another tool's fault
            say(f"{self.variant.name}: {what} failed: {error}")
            return None
        if result is None:
            return None
        staging.verify(self.bed, self.expected, self.staging.destination)
        say(f"{self.variant.name}: {what} {result['wall_s']:.2f} s")
        return result

    def measure(self):
        wanted, runs = self.options["baselines"], self.options["runs"]
        several = self.options["baseline_runs"]
        self.held_ready = False
        ours, staged = [], []
        for _ in range(runs):  # turn by turn, so that a busy minute hits both
            ours.append(self.engine("ours"))
            if "staged" in wanted and len(staged) < several:
                staged.append(self.engine("staged", ["--schedule=staged"]))
        if self.options["trace"]:
            self.engine("traced", trace=f"{self.work}/trace.json")
        everything = {"ours": ours, "staged": staged}
        n, wire = self.nodes, self.bound
        if "rclone" in wanted:
            limit = self.limit(n * sum(self.terms.values()))
            everything["rclone"] = [self.baseline("every node rclone", baselines.rclone, limit)
                                    for _ in range(several)]
        if "sbcast" in wanted:
            everything["sbcast"] = [
                self.baseline("sbcast", slurm.sbcast, self.limit(10 * sum(self.terms.values())))
                for _ in range(several)]
        return {name: [r for r in results if r] for name, results in everything.items()}

    def result(self, everything):
        ours = everything["ours"]
        middle = sorted(ours, key=lambda r: r["engine_s"])[len(ours) // 2]
        ours_s = median(ours, "engine_s")
        report = middle["report"]
        seconds = {"staged": "engine_s", "rclone": "wall_s", "sbcast": "wall_s"}
        known = [name for name in seconds if everything.get(name)]
        stages = {name: {"begin": stage["begin"], "end": stage["begin"] + stage["seconds"]}
                  for name, stage in report["stages"].items() if name != "total"}
        moving = [stages[s] for s in ("download", "bcast", "write") if stages[s]["end"] > 0]
        span = max(s["end"] for s in moving) - min(s["begin"] for s in moving) if moving else 0
        busy = sum(s["end"] - s["begin"] for s in moving)
        return {
            "regime": self.variant.regime, "variant": self.variant.name, "what": self.variant.what,
            "nodes": self.nodes, "bytes": self.size, "files": len(self.names),
            "bound_s": self.bound, "bound_by": max(self.terms, key=self.terms.get),
            "bound_terms": self.terms,
            # With TCP/IP headers, which no sender can avoid on these wires.
            "bound_wire_s": bound.on_the_wire(self.terms, bed.HEADERS),
            "ours_s": ours_s, "ratio": ours_s / self.bound, "target": self.variant.target,
            "ours_wall_s": median(ours, "wall_s"),
            "baselines": {name: median(everything[name], seconds[name]) for name in known},
            "baseline_ratios": {name: median(everything[name], seconds[name]) / self.bound
                                for name in known},
            # Of the run in the middle. 1: one stage after the other; 3: all three all the time.
            "stages": stages, "overlap": busy / span if span else None,
            "cpu_s": median(ours, "cpu_s"),
            "machine_cpu_s": median(ours, "machine_cpu_s"),
            "cores_busy": median([{"c": r["machine_cpu_s"] / r["wall_s"]} for r in ours], "c"),
            "peak_rss": max((r["peak_rss"] or 0 for r in ours), default=0) or None,
            "source_bytes": median(ours, "source_bytes"),
            "fabric_bytes_max": median(ours, "fabric_bytes_max"),
            "runs": everything,
            "shaped": {key: getattr(self.variant, key) for key in
                       ("egress", "storage", "fabric", "rails", "disk", "slow", "download",
                        "local", "held")},
            "scale": self.options["scale"], "wires": self.options["wires"],
        }

    def keep(self):
        say("kept; a shell in here, whose end is the end of all. A node's inside:")
        for space in [self.bed.source, *self.bed.nodes]:
            say("  " + space.name + ": " + " ".join(space.enter("bash")))
        subprocess.run(["bash", "--norc", "-i"], env={**os.environ, "PS1": "bench# "})


def main(path):
    with open(path) as file:
        options = json.load(file)
    bench = Bench(options)
    try:
        bed.run(["hostname", "hub"])
        choose_congestion_control(options["congestion_control"])
        bench.prepare()
        result = bench.result(bench.measure())
        with open(f"{bench.work}/result.json", "w") as file:
            json.dump(result, file)
        if options["keep"]:
            bench.keep()
    except (procs.RunError, bed.BedError) as error:
        say(f"{options['variant']}: {error}")
        if options["keep"] and hasattr(bench, "bed"):
            bench.keep()
        return 1
    return 0
