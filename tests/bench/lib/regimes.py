"""The table: every parameter of every regime, and nothing else. Rates in Mbit/s, sizes in bytes.

A regime (1 to 9) has one or more variants; each is a line here and is run on its own. The machine is
a small copy of one with 236 Gb/s from the store, 400 Gb/s of fabric and 100 Gb/s of disk per node:
1:1000 where the bound is long enough for two cores to move 16 copies of everything (about 100 CPU
seconds per GB of model on 16 nodes), else less, with what the regime is about the slowest, so that the
wire is what is measured.

  files     which model (lib/model.py): mixed(count, total), equal(count, each), small(count)
  egress    of the source, all nodes together
  storage   each node's link to the source
  fabric    each rail of each node, and `rails` of them
  disk      each node's disk; None: tmpfs, no limit
  slow      {node: {"disk" or "storage": rate}}, nodes count from 0
  download  how many nodes download; None: all
  local     the source is a directory that node 0 alone sees (file:///), not the store
  held      how many nodes hold the model before the start; -1: all but one
  target    largest ratio to the bound that issue 3 allows; None: it names none
"""

from dataclasses import dataclass, field

MB = 1000 * 1000
MIB = 1 << 20


@dataclass(frozen=True)
class Variant:
    name: str
    what: str
    files: tuple
    egress: float = 236
    storage: float = 100
    fabric: float = 400
    rails: int = 1
    disk: float | None = None
    slow: dict = field(default_factory=dict)
    download: int | None = None
    local: bool = False
    held: int = 0
    target: float | None = 1.15

    @property
    def regime(self):
        return int(self.name.rstrip("abcdt"))


MODEL = ("mixed", 524, 413 * MB)
HALF = ("mixed", 524, 206 * MB)
SMALL = ("mixed", 131, 80 * MB)

TABLE = [
    Variant("1d", "524 mixed files, disk the bottleneck", MODEL, disk=100),
    Variant("1t", "half of it without a disk limit, wires 1:4000: source", HALF,
            egress=59, storage=25, fabric=100),
    Variant("2", "six equal big files, fewer than ranks", ("equal", 6, 32 * MIB),
            egress=59, storage=25, fabric=100),
    Variant("3", "5,000 files of 1-50 KB, disk the bottleneck", ("small", 5000),
            egress=118, storage=50, fabric=200, disk=50, target=1.5),
    Variant("4", "fabric the bottleneck", HALF, egress=400, storage=50, fabric=50),
    Variant("5", "disk the bottleneck, node 3's at half speed", HALF,
            egress=400, disk=100, slow={3: {"disk": 50}}),
    Variant("6", "storage links the bottleneck, node 3's at a quarter", HALF,
            egress=400, storage=4, fabric=100, slow={3: {"storage": 1}}, target=1.25),
    Variant("7a", "two nodes download, fabric the bottleneck", HALF,
            egress=400, storage=100, fabric=50, download=2, target=1.3),
    Variant("7b", "one node sees the files (file:///)", HALF,
            fabric=50, download=1, local=True, target=1.3),
    # Egress below 16 x fabric: else each node would better download all by itself.
    Variant("8a", "one rail, fabric the bottleneck", SMALL, egress=100, storage=50, fabric=12.5),
    # Issue 3 asks k rails to be 0.85 × k times as fast as one: 1.11 (measured, 8a) ÷ 0.85.
    Variant("8b", "two rails of the same", SMALL, egress=100, storage=50, fabric=12.5, rails=2,
            target=1.3),
    Variant("8c", "four rails of the same", SMALL, egress=100, storage=50, fabric=12.5, rails=4,
            target=1.3),
    Variant("9a", "3 nodes hold the model already", HALF, egress=118, storage=50, fabric=100, held=3,
            target=None),
    Variant("9b", "all nodes but one hold it already", HALF, egress=118, storage=50, fabric=100,
            held=-1, target=None),
]


def select(words):
    """'all', regimes ('8') and single variants ('8b') to table lines, in the table's order."""
    chosen = []
    for word in words:
        found = [v for v in TABLE if word in ("all", v.name, str(v.regime))]
        if not found:
            names = " ".join(v.name for v in TABLE)
            raise SystemExit(f"bench: no regime '{word}': 1 to 9, all, or one of {names}")
        chosen += [v for v in found if v not in chosen]
    return chosen


def holders(variant, nodes):
    return nodes - 1 if variant.held < 0 else min(variant.held, nodes - 1)


def downloaders(variant, nodes):
    return min(variant.download or nodes, nodes)


def rate_of(variant, node, kind):
    return variant.slow.get(node, {}).get(kind, getattr(variant, kind))
