#!/usr/bin/env python3
"""Cases H2, H3, U1: bodies that end early, servers that stall, and what a run says in the end."""

import json
import random
import shutil
import threading
import unittest

from case import CaseTest

DATA = random.Random(7).randbytes(6_000_000)


class TransferTest(CaseTest):
    files = {"m/a.bin": DATA, "m/b.bin": b"b" * 70_000}

    def first(self, count, act):
        """`act(handler)` for the first so many requests for a.bin."""
        lock, seen = threading.Lock(), []

        def before(handler, name, _query):
            if name != "m/a.bin":
                return False
            with lock:
                seen.append(name)
                mine = len(seen) <= count
            return mine and act(handler)

        self.store.before = before

    # H2

    def test_short_bodies_are_completed(self):
        for reset in (False, True):
            for keep in (0, 65_535):
                with self.subTest(reset=reset, keep=keep):
                    self.first(4, lambda handler: self.store.cut(handler, keep, reset))
                    report = self.staged()
                    self.assertEqual(report["retries_short"] + report["retries_reset"], 4)
                    self.dest = self.dir / f"{reset}-{keep}"

    def test_short_bodies_for_ever_fail(self):
        self.first(10**9, lambda handler: self.store.cut(handler, 1000))
        for ranks in (1, 3):
            self.stage("--max-retries", "1", "--chunk-size", "64KiB", ranks=ranks)
            self.refused(5, "object 'a.bin' after ", "sends less than it promises")

    # H3

    def test_a_trickle_is_cut_off_by_the_real_rule(self):
        """A byte every 20 s, a server that never answers, one that stops: with the engine's own window."""
        def act(handler):
            with self.store.lock:
                self.seen += 1
                kind = self.seen % 3
            if kind == 0:
                return self.store.hold(handler)
            return self.store.trickle(handler, 1 if kind == 1 else 30_000, 20 if kind == 1 else 60)

        self.seen = 0
        self.first(6, act)
        report = self.staged()
        self.assertEqual(report["retries_stall"], 6)

    def test_silence_ends_at_the_deadline(self):
        self.first(10**9, self.store.hold)
        self.deadline = "3s"
        self.stage()
        self.refused(8, "deadline")

    def test_a_cap_below_a_slow_link_is_no_stall(self):
        def slow(handler, name):
            self.gone.wait(0.02)  # 64 KiB each: about 3 MB/s of one connection
            return blob(handler, name)

        self.gone = threading.Event()
        blob, self.store.blob = self.store.blob, slow
        report = self.staged("--concurrency", "1", "--max-bandwidth", "2MB/s")
        self.assertEqual(report["retries_stall"], 0)
        self.assertEqual(report["retries_reset"], 0)

    # M1

    def test_chunks_that_no_call_can_count_are_refused(self):
        for flag in ("--chunk-size", "--block-size"):
            for size in ("0", "-1", "1GiB1", "1073741825", "2147483649", "2GiB", "4GiB", "8GiB", str(1 << 63)):
                with self.subTest(flag=flag, size=size):
                    self.json = self.dir / "report.json"
                    self.ranks = 1
                    self.code = self.engine(f"{flag}={size}", "az://acct/models/m/", self.dest)
                    self.refused(2, flag)
        self.assertEqual(self.store.requests, [])

    # U1

    def test_the_report_counts_what_happened(self):
        answers = [lambda h: self.store.throttle(h, 0), lambda h: self.store.throttle(h, None, 500, "InternalError"),
                   lambda h: self.store.throttle(h, None, 502, ""), lambda h: self.store.cut(h, 1000),
                   lambda h: self.store.cut(h, 0)]
        self.first(len(answers), lambda handler: answers.pop()(handler))
        report = self.staged("--concurrency", "1", ranks=3)
        self.assertEqual(answers, [])
        self.assertEqual(report["retries_throttle"], 1)
        self.assertEqual(report["retries_server"], 2)
        self.assertEqual(report["retries_short"] + report["retries_reset"], 2)
        self.assertEqual(report["requests"], len(self.store.gets()))
        self.assertEqual(report["bytes_received"], sum(map(len, self.files.values())))
        for name in ("requests", "bytes_received", "retries_throttle", "retries_server", "retries_short"):
            self.assertEqual(sum(node[name] for node in report["nodes"]), report[name], name)
        self.assertEqual([node["node"] for node in report["nodes"]], ["n0", "n1", "n2"])
        self.assertIn(f"{report['requests']} requests, 5 retries", self.output)

    def test_a_second_run_counts_nothing_as_moved(self):
        self.staged()
        report = self.staged()
        self.assertEqual((report["requests"], report["bytes_received"]), (0, 0))
        self.assertEqual(report["stages"]["download"]["bytes"], 0)
        self.assertNotIn("[tune]", self.output)

    def test_the_settings_are_told_wherever_something_moves(self):
        """Also where it is not rank 0 that lacks the model."""
        self.staged("--writers", "3", ranks=3)
        shutil.rmtree(self.dir / "dest-2")
        self.staged("--writers", "3", ranks=3)
        self.assertRegex(self.output, r"\[tune\] .* 3 writers")

    def test_every_failure_has_its_exit_code_and_leaves_what_was_there(self):
        self.staged()
        before = {path: path.read_bytes() for path in self.dest.rglob("*") if path.is_file()}
        self.store.files["m/a.bin"] = b"new" * 100_000
        self.store.etags["m/a.bin"] = "v2"
        for code, act in ((3, lambda h: self.store.error(h, 403, "AuthorizationFailure") or True),
                          (3, lambda h: self.store.error(h, 404, "BlobNotFound") or True),
                          (3, lambda h: self.store.error(h, 409, "BlobArchived") or True),
                          (5, lambda h: self.store.error(h, 412, "ConditionNotMet") or True),
                          (5, lambda h: self.store.throttle(h, None, 500, "InternalError")),
                          (5, lambda h: self.store.throttle(h, 0)),
                          (5, lambda h: self.store.cut(h, 10))):
            self.first(10**9, act)
            self.assertEqual(self.stage("--max-retries", "0"), code, self.output)
            said = [line for line in self.output.splitlines() if line.startswith("stage-engine: ")]
            self.assertEqual(len(said), 1, self.output)
            self.assertIn("object 'a.bin'", said[0])
            self.assertNotIn("[total]", self.output)
            self.assertFalse(self.json.exists())
            after = {path: path.read_bytes() for path in self.dest.rglob("*") if path.is_file()}
            self.assertEqual(after, before)


if __name__ == "__main__":
    unittest.main()
