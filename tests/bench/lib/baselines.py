"""What people do without us, timed until the bytes are on the disk (sync)."""

import os

from . import procs, regimes, source

RCLONE = ["rclone", "copy", "--config", "/dev/null", "--transfers", "16", "--checkers", "16"]


def rclone(bed, expected, limit):
    """Every node downloads all."""
    place = f"{bed.work}/disk/model"
    if bed.variant.local:
        return None  # only one node sees the source
    held = regimes.holders(bed.variant, bed.count)
    for node in bed.nodes[:held]:  # as rclone itself would have left it
        node.run("cp", "-rp", expected, place)
    script = ' '.join(RCLONE) + f' --http-url {source.PLAIN} :http: {place} && sync -f {bed.work}/disk'
    commands = [node.enter("env", "HOME=/run", "sh", "-c", script) for node in bed.nodes]
    logs = [f"{bed.work}/log/{node.name}.rclone" for node in bed.nodes]
    before = bed.traffic()["source"]
    result = procs.together(commands, limit, logs, {"PATH": os.environ["PATH"]})
    result["source_bytes"] = bed.traffic()["source"] - before
    return result
