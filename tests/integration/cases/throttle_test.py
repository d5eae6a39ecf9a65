#!/usr/bin/env python3
"""Case T1: a store that throttles a fleet. The times are scaled down: a second for three, a few
hundred requests for a minute."""

import random
import threading
import unittest

from case import CaseTest
from store_mock import Sometimes

DATA = random.Random(8).randbytes(8_000_003)


class ThrottleTest(CaseTest):
    files = {"m/a.bin": DATA, "m/b.bin": DATA[:100_001]}

    def refuse(self, when, *throttle):
        def before(handler, name, _query):
            return name is not None and when() and self.store.throttle(handler, *throttle)

        self.store.before = before

    def counted(self, report, when):
        """The report says how often it happened, and on which node."""
        self.assertEqual(report["retries_throttle"], when.said)
        self.assertEqual(sum(node["retries_throttle"] for node in report["nodes"]), when.said)
        most = max(node["retries_throttle"] for node in report["nodes"])
        self.assertIn(f"; throttled {when.said} times, most on ", self.output)
        self.assertIn(f" ({most})", self.output)
        self.assertEqual(report["retries_server"], 0)

    def test_seven_of_ten_requests_for_a_while(self):
        when = Sometimes(7, 60)
        self.refuse(when, 1)
        report = self.staged("--chunk-size", "256KiB", ranks=3)
        self.assertGreaterEqual(when.said, 30)
        self.counted(report, when)
        self.assertEqual([node["node"] for node in report["nodes"]], ["n0", "n1", "n2"])

    def test_each_form_of_it(self):
        for form in ((None,), ("date",), (1, 429, ""), (None, 500, "OperationTimedOut"), (0, 503, "ServerBusy")):
            with self.subTest(form=form):
                when = Sometimes(10, 12)
                self.refuse(when, *form)
                self.counted(self.staged("--max-retries", "1"), when)
                self.dest = self.dir / f"after-{form}"

    def test_a_minute_too_many_is_bounded(self):
        """100000 s is not waited for, nor forgotten: the run's own deadline ends it."""
        self.refuse(lambda: True, 100000)
        self.deadline = "4s"
        self.stage("--concurrency", "16")
        self.refused(8, "deadline")
        # Nobody came back before the time.
        self.assertLessEqual(len(self.store.gets()), 16)

    def test_the_list_is_waited_for_too(self):
        left = [1, 1, 1]
        self.store.before = lambda handler, name, query: (
            name is None and bool(left) and self.store.throttle(handler, left.pop()))
        self.staged()
        self.assertEqual(self.store.lists(), 4)

    def test_fewer_at_once_after_it_and_as_many_again_later(self):
        """Additive increase, multiplicative decrease, as the server sees it: those that it has not begun
        to answer, since of the others it does not know when the engine has them."""
        at_once, waiting = [], [0]
        refused = threading.Event()
        gate = threading.Barrier(16, action=refused.set)

        def before(handler, name, _query):
            if name is None:
                return False
            if not refused.is_set():
                gate.wait(60)  # all 16 are in flight
                return self.store.throttle(handler, 0)
            with self.store.lock:
                waiting[0] += 1
                at_once.append(waiting[0])
            threading.Event().wait(0.1)
            with self.store.lock:
                waiting[0] -= 1
            return False

        self.store.files = {"m/a.bin": DATA * 2}
        self.store.before = before
        report = self.staged("--concurrency", "16", files=self.store.files)
        self.assertEqual(report["retries_throttle"], 16)
        # Half of 16; then one more for each round that went well.
        self.assertLessEqual(max(at_once[:8]), 9)
        self.assertGreaterEqual(max(at_once), 12)
        self.assertGreater(next(i for i, n in enumerate(at_once) if n >= 12), 30)

    def test_a_store_that_never_gives_in_fails_all_nodes(self):
        self.refuse(lambda: True, 0)
        self.stage("--max-retries", "0", "--chunk-size", "256KiB", ranks=3)
        self.refused(5, "throttles (HTTP 503)", "--concurrency")


if __name__ == "__main__":
    unittest.main()
