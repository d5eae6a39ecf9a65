#!/usr/bin/env python3
"""What a node holds from an earlier run: sent to those that lack it if its disk still gives back what was
staged, and refused if it does not."""

import json
import os
import random
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../support"))
from mock import EngineTest  # noqa: E402

SMALL, LARGE, PACKED = "small", "sub/large", "tiny"


class HeldTest(EngineTest):
    chunk = ("--chunk-size", "256KiB")

    def setUp(self):
        super().setUp()
        draw = random.Random(5)
        self.files = {SMALL: draw.randbytes(70_001), LARGE: draw.randbytes(3_000_017), PACKED: b"x" * 11}
        self.source = self.dir / "source"
        (self.source / "sub").mkdir(parents=True)
        for name, data in self.files.items():
            (self.source / name).write_bytes(data)
        self.report = self.dir / "report.json"

    def stage(self, *options, **more):
        self.report.unlink(missing_ok=True)
        self.code = self.engine(*self.chunk, "--json", self.report, *options,
                                f"file://{self.source}/", self.dest, **more)
        return self.code

    def downloaded(self):
        return json.loads(self.report.read_text())["stages"]["download"]["bytes"]

    def alter(self, path, offset=None):
        """Other bytes in place, at one offset or all of them; size, inode and time stay, as where a disk rots."""
        was = path.stat()
        data = bytearray(path.read_bytes())
        for at in range(len(data)) if offset is None else [offset]:
            data[at] ^= 0x10
        with open(path, "r+b") as file:
            os.pwrite(file.fileno(), data, 0)
        os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
        now = path.stat()
        self.assertEqual((now.st_ino, now.st_mtime_ns, now.st_size), (was.st_ino, was.st_mtime_ns, was.st_size))


class Resent(HeldTest):
    def test_what_is_whole_is_sent_and_the_source_is_not_asked(self):
        self.assertEqual(self.stage(), 0, self.output)
        for name in self.files:
            self.alter(self.source / name)  # who asks the source gets these
        self.assertEqual(self.stage(ranks=2), 0, self.output)
        for dest in (self.dest, self.dir / "dest-1"):
            self.assertStaged(self.files, dest)
        self.assertEqual(self.downloaded(), 0, self.output)

    def test_one_bad_bit_is_not_spread(self):
        self.assertEqual(self.stage(), 0, self.output)
        for name, offset in ((SMALL, 70_000), (LARGE, 2_000_000), (PACKED, 0)):
            with self.subTest(name):
                self.alter(self.dest / name, offset)
                self.assertEqual(self.stage(ranks=2), 7, self.output)
                for word in ("n0: this node's disk gives back other bytes", f"'{name}'", "--compare none"):
                    self.assertIn(word, self.output)
                self.assertFalse((self.dir / "dest-1").exists())
                self.assertEqual(list(self.dir.glob(".stage-model-*")), [])
                self.alter(self.dest / name, offset)  # as it was

    def test_a_job_of_another_size_cuts_as_before(self):
        """One rank would take chunks of 1 MiB for this, two 512 KiB."""
        self.chunk = ()
        self.files[LARGE] = random.Random(6).randbytes(50_000_000)
        (self.source / LARGE).write_bytes(self.files[LARGE])
        self.assertEqual(self.stage(), 0, self.output)
        chunks = re.search(r"chunks of [0-9]+ KiB", self.output).group()
        self.alter(self.dest / LARGE, 20_000_000)
        self.assertEqual(self.stage(ranks=2), 7, self.output)
        self.alter(self.dest / LARGE, 20_000_000)
        self.assertEqual(self.stage(ranks=2), 0, self.output)
        self.assertIn(chunks, self.output)
        self.assertEqual(self.stage("--compare", "none", ranks=2), 0, self.output)
        self.assertNotIn(chunks, self.output)  # what is here does not count

    def test_the_advice_helps(self):
        self.assertEqual(self.stage(), 0, self.output)
        self.alter(self.dest / LARGE, 2_000_000)
        self.assertEqual(self.stage(ranks=2), 7, self.output)
        self.assertEqual(self.stage("--compare", "none", ranks=2), 0, self.output)
        for dest in (self.dest, self.dir / "dest-1"):
            self.assertStaged(self.files, dest)

    def test_what_was_staged_without_checksums_is_not_compared(self):
        self.assertEqual(self.stage("--verify", "none"), 0, self.output)
        self.assertEqual(self.stage(ranks=2), 0, self.output)
        self.assertStaged(self.files, self.dir / "dest-1")


class BySize(HeldTest):
    """--compare size: the same sizes, other bytes and another ETag."""

    def change(self, *names):
        for name in names:
            self.files[name] = bytes(byte ^ 1 for byte in self.files[name])
            (self.source / name).write_bytes(self.files[name])

    def test_the_next_run_without_it_fetches_the_new_version(self):
        self.assertEqual(self.stage(), 0, self.output)
        old = dict(self.files)
        self.change(LARGE)
        self.files[SMALL] += b"longer"
        (self.source / SMALL).write_bytes(self.files[SMALL])
        self.assertEqual(self.stage("--compare", "size"), 0, self.output)
        self.assertStaged({**self.files, LARGE: old[LARGE]})
        self.assertEqual(self.downloaded(), len(self.files[SMALL]))
        self.assertEqual(self.stage(), 0, self.output)
        self.assertStaged(self.files)

    def test_an_old_version_is_not_sent_to_others(self):
        self.assertEqual(self.stage(), 0, self.output)
        self.change(LARGE, SMALL)
        for time in ("first", "again"):
            with self.subTest(time):
                self.assertEqual(self.stage("--compare", "size", ranks=2), 0, self.output)
                for dest in (self.dest, self.dir / "dest-1"):
                    self.assertStaged(self.files, dest)
        self.assertEqual(self.stage(ranks=2), 0, self.output)
        self.assertEqual(self.downloaded(), 0)

    def test_what_all_have_stays(self):
        self.assertEqual(self.stage(ranks=2), 0, self.output)
        old = dict(self.files)
        self.change(LARGE)
        self.assertEqual(self.stage("--compare", "size", ranks=2), 0, self.output)
        self.assertEqual(self.downloaded(), 0)
        for dest in (self.dest, self.dir / "dest-1"):
            self.assertStaged(old, dest)
        self.assertEqual(self.stage(ranks=2), 0, self.output)
        for dest in (self.dest, self.dir / "dest-1"):
            self.assertStaged(self.files, dest)


if __name__ == "__main__":
    unittest.main()
