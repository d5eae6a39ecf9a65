#!/usr/bin/env python3
"""--trace on four ranks: every chunk's life is in it once on each rank, in order, on one clock; and a run
without it writes none."""

import collections
import json
import os
import random
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../support"))
from mock import EngineTest  # noqa: E402

RANKS = 4
FILES = {f"part-{i}": random.Random(i).randbytes(200_000 + 77 * i) for i in range(12)}
# Two clocks on one machine are compared by messages, on a machine that has other things to do.
SLACK_US = 100_000


class TraceTest(EngineTest):
    def setUp(self):
        super().setUp()
        self.source = self.dir / "source"
        self.source.mkdir()
        for name, data in FILES.items():
            (self.source / name).write_bytes(data)
        self.file = self.dir / "trace.json"

    def stage(self, *options):
        code = self.engine("--chunk-size", "64KiB", *options, f"file://{self.source}/", self.dest, ranks=RANKS)
        self.assertEqual(code, 0, self.output)

    def test_every_chunks_life(self):
        self.stage("--trace", self.file)
        events = json.loads(self.file.read_text())["traceEvents"]
        lives = collections.defaultdict(dict)  # (chunk, rank) → stage → event
        tracks = collections.defaultdict(list)
        for event in events:
            if event["ph"] != "X":
                continue
            life = lives[event["name"], event["pid"]]
            self.assertNotIn(event["cat"], life, event)
            life[event["cat"]] = event
            tracks[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
        chunks = {chunk for chunk, _ in lives}
        self.assertGreaterEqual(len(chunks) * 65536, sum(map(len, FILES.values())))
        for chunk in chunks:
            roots = [rank for rank in range(RANKS) if "GET" in lives[chunk, rank]]
            self.assertEqual(len(roots), 1, chunk)
            root = lives[chunk, roots[0]]
            self.in_order([root[stage] for stage in ("GET", "hash", "wait", "broadcast")])
            for rank in range(RANKS):
                life = lives[chunk, rank]
                self.in_order([life[stage] for stage in ("broadcast", "write") if rank != roots[0] or stage == "write"])
                self.assertGreater(life["broadcast"]["ts"] + life["broadcast"]["dur"],
                                   root["broadcast"]["ts"] - SLACK_US)
        for spans in tracks.values():  # else a viewer cannot draw them
            spans.sort()
            for (_, end), (begin, _) in zip(spans, spans[1:]):
                self.assertLessEqual(end, begin + 0.2)
        names = {event["args"]["name"] for event in events if event["name"] == "process_name"}
        self.assertEqual(names, {f"rank {i} n{i}" for i in range(RANKS)})

    def in_order(self, events):
        for before, after in zip(events, events[1:]):
            self.assertLessEqual(before["ts"] + before["dur"], after["ts"] + 0.2, (before, after))

    def test_none_unless_asked_for(self):
        self.stage()
        self.assertEqual([path.name for path in self.dir.rglob("*trace*")], [])


if __name__ == "__main__":
    unittest.main()
