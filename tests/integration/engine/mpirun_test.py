#!/usr/bin/env python3
"""Started by mpirun with settings of the caller's own: the network is theirs, the broadcast algorithm is the
engine's unless they name one. The report has what MPI itself says is in use (its tools interface)."""

import json
import os
import random
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../support"))
from mock import EngineTest  # noqa: E402

FILES = {f"part-{i}": random.Random(i).randbytes(200_000 + 77 * i) for i in range(4)}
OURS = "pipeline of 64 KiB"


class MpirunTest(EngineTest):
    def setUp(self):
        super().setUp()
        self.source = self.dir / "source"
        self.source.mkdir()
        for name, data in FILES.items():
            (self.source / name).write_bytes(data)

    def stage(self, ranks=3, **mca):
        report = self.dir / "report.json"
        settings = {f"OMPI_MCA_{name}": value for name, value in mca.items()}
        code = self.engine("--json", report, f"file://{self.source}/", self.dest, ranks=ranks, **settings)
        self.assertEqual(code, 0, self.output)
        self.assertStaged(FILES)
        return json.loads(report.read_text())

    def test_the_callers_network_and_our_algorithm(self):
        report = self.stage(pml="ob1")  # with btl, and its interface, which all these tests set
        self.assertEqual((report["transport"], report["broadcast"]), ("ob1/tcp on lo", OURS))
        self.assertIn("3 ranks, ob1/tcp on lo; " + OURS, self.output)

    def test_components_that_are_left_out_for_other_reasons(self):
        self.assertEqual(self.stage(coll="^han")["broadcast"], OURS)

    def test_the_callers_algorithm(self):
        self.assertEqual(self.stage(coll="^adapt")["broadcast"], "the library's own broadcast")

    def test_the_callers_algorithm_of_adapt(self):
        report = self.stage(coll_adapt_bcast_algorithm="6", coll_adapt_bcast_segment_size="32768")
        self.assertEqual(report["broadcast"], "linear of 32 KiB")

    def test_a_parameter_file_that_names_the_interface(self):
        """An exclude list of ours beside it would end MPI_Init: one rank sets up no connection, but reads both."""
        (self.home / ".openmpi").mkdir()
        (self.home / ".openmpi/mca-params.conf").write_text("btl_tcp_if_include = lo\n")
        report = self.stage(ranks=1)
        self.assertEqual(report["broadcast"], "")
        self.assertNotIn("mutually-exclusive", self.output)


if __name__ == "__main__":
    unittest.main()
