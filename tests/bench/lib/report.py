"""The table that people read."""


def number(value, form="{:.2f}"):
    return "-" if value is None else form.format(value)


def megabytes(value):
    return "-" if not value else f"{value / 1e6:.0f}"


def table(results):
    head = ["regime", "nodes", "MB", "files", "bound", "by", "ours", "ratio", "target", "wall",
            "staged", "rclone", "sbcast", "overlap", "CPU s", "cores", "RSS MB"]
    rows = [head]
    for r in results:
        baselines = r["baselines"]
        rows.append([
            r["variant"], str(r["nodes"]), megabytes(r["bytes"]), str(r["files"]),
            number(r["bound_s"]), r["bound_by"], number(r["ours_s"]), number(r["ratio"]),
            number(r["target"]), number(r["ours_wall_s"]),
            *[number(baselines.get(name)) for name in ("staged", "rclone", "sbcast")],
            number(r["overlap"]), number(r["cpu_s"], "{:.1f}"), number(r["cores_busy"]),
            megabytes(r["peak_rss"])])
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    return "\n".join("  ".join(cell.rjust(w) for cell, w in zip(row, widths)).rstrip()
                     for row in rows)


def details(r):
    lines = [f"{r['variant']}: {r['what']}",
             "  bounds: " + ", ".join(f"{k} {v:.2f} s" for k, v in r["bound_terms"].items())
             + f"; with TCP/IP headers {r['bound_wire_s']:.2f} s, ours is"
             + f" {r['ours_s'] / r['bound_wire_s']:.2f} of that",
             "  stages: " + ", ".join(f"{name} {s['begin']:.2f}-{s['end']:.2f}"
                                      for name, s in r["stages"].items() if s["end"] > 0),
             f"  bytes from the source {megabytes(r['source_bytes'])} MB (model "
             f"{megabytes(r['bytes'])} MB), most on one node's fabric "
             f"{megabytes(r['fabric_bytes_max'])} MB",
             "  ours: " + ", ".join(f"{x['engine_s']:.2f} s" for x in r["runs"]["ours"])]
    if r["cores_busy"] and r["cores_busy"] > 1.7:
        lines.append(f"  NOT the wire alone: {r['cores_busy']:.2f} cores were busy; "
                     "slow the wires (--wires 0.5 --scale 0.5) or free the machine")
    slower = [name for name, s in r["baselines"].items() if s < r["ours_s"]]
    if slower:
        lines.append(f"  SLOWER than: {', '.join(slower)}")
    if r["target"] and r["ratio"] > r["target"]:
        lines.append(f"  MISSES its target: {r['ratio']:.2f} > {r['target']:.2f}")
    return "\n".join(lines)


def rails(results):
    """How speed grows with rails, if the three variants of regime 8 are there."""
    by_name = {r["variant"]: r["ours_s"] for r in results}
    if "8a" not in by_name:
        return ""
    return "\n".join(
        f"{count} rails: {by_name['8a'] / by_name[name]:.2f} times one rail "
        f"(target {0.85 * count:.2f})"
        for name, count in (("8b", 2), ("8c", 4)) if name in by_name)
