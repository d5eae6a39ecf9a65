"""plot.py RESULTS.json PNG [TRACE.json]: bars of bound, ours and the baselines, beside them overlap, CPU
seconds and peak memory of ours, and if there is a trace the life of the chunks on a few ranks."""

import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

COLORS = {"bound": "#999999", "ours": "#1b7837", "staged": "#c2a5cf", "rclone": "#f1a340",
          "sbcast": "#b35806"}
STAGES = {"GET": "#2166ac", "read": "#2166ac", "wait": "#dddddd", "broadcast": "#1b7837",
          "write": "#b35806"}
RANKS = 4


def bars(axis, results):
    names = ["bound", "ours", *[b for b in ("staged", "rclone", "sbcast")
                                if any(b in r["baselines"] for r in results)]]
    height = 0.8 / len(names)
    longest = max(r["ours_s"] for r in results)
    for i, name in enumerate(names):
        places = [k + i * height for k in range(len(results))]
        values = [{"bound": r["bound_s"], "ours": r["ours_s"], **r["baselines"]}.get(name)
                  for r in results]
        axis.barh(places, [v or 0 for v in values], height, color=COLORS[name], label=name)
        for place, value, r in zip(places, values, results):
            if value:
                ratio = "" if name == "bound" else f"  ({value / r['bound_s']:.2f})"
                axis.text(value, place, f" {value:.1f} s{ratio}", va="center", fontsize=6)
        longest = max(longest, *[v or 0 for v in values])
    axis.set_yticks([k + 0.4 - height / 2 for k in range(len(results))])
    axis.set_yticklabels([
        f"{r['variant']}, {r['nodes']} nodes\noverlap {r['overlap'] or 0:.2f}\nCPU {r['cpu_s']:.1f} s\n"
        f"{(r['peak_rss'] or 0) / 1e6:.0f} MB" for r in results], fontsize=6)
    axis.set_xlim(0, longest * 1.15)
    axis.invert_yaxis()
    axis.set_xlabel("seconds (ratio to the bound)")
    axis.legend(fontsize=7)


def spans_by_rank(trace):
    ranks = {}
    for event in trace["traceEvents"]:
        if event.get("ph") == "X" and event.get("cat") in STAGES:
            ranks.setdefault(event["pid"], []).append(event)
    return ranks


def gantt(axis, trace):
    """Ranks from top to bottom; in each a band for every stage, and in it a row for each chunk that
    was in that stage at once."""
    ranks = spans_by_rank(trace)
    every = sorted(ranks)
    step = max(1, len(every) // RANKS)
    ticks, labels, top = [], [], 0
    for rank in every[::step][:RANKS]:
        for stage in ("GET", "read", "wait", "broadcast", "write"):
            spans = [e for e in ranks[rank] if e["cat"] == stage]
            if not spans:
                continue
            rows = sorted({e["tid"] for e in spans})
            for e in spans:
                place = top + (rows.index(e["tid"]) + 0.5) / len(rows)
                axis.barh(place, e["dur"] / 1e6, 0.9 / len(rows), left=e["ts"] / 1e6,
                          color=STAGES[stage], linewidth=0)
            ticks.append(top + 0.5)
            labels.append(f"rank {rank} {stage}")
            top += 1
        top += 0.4
    axis.set_yticks(ticks)
    axis.set_yticklabels(labels, fontsize=6)
    axis.invert_yaxis()
    axis.set_xlabel("seconds since the start of the run (a row per chunk at once)")


def main():
    with open(sys.argv[1]) as file:
        results = json.load(file)["variants"]
    trace = None
    if len(sys.argv) > 3:
        with open(sys.argv[3]) as file:
            trace = json.load(file)
    heights = [1 + 0.8 * len(results), *([5] if trace else [])]
    figure, axes = plt.subplots(len(heights), 1, figsize=(9, sum(heights)), squeeze=False,
                                gridspec_kw={"height_ratios": heights})
    bars(axes[0][0], results)
    if trace:
        gantt(axes[1][0], trace)
        axes[1][0].set_title(f"{results[-1]['variant']}: {results[-1]['what']}", fontsize=8)
    figure.tight_layout()
    figure.savefig(sys.argv[2], dpi=90)


if __name__ == "__main__":
    main()
