#!/usr/bin/env python3
"""The engine checks what it staged from Cloud Storage by crc32c, which is all that composite objects
have (case I3): tests/support/cloud_server.py states a wrong one for m/big."""

import os
import subprocess
import sys
import unittest

SUPPORT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../support")
sys.path.insert(0, SUPPORT)
from mock import EngineTest  # noqa: E402


class Crc32cTest(EngineTest):
    def setUp(self):
        super().setUp()
        server = subprocess.Popen([sys.executable, SUPPORT + "/cloud_server.py"], text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(server.communicate)
        port = server.stdout.readline().split()[1]
        self.env["CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE"] = f"http://127.0.0.1:{port}/gcs-public/storage/v1/"
        self.env["NO_GCE_CHECK"] = "true"

    def test_a_wrong_crc32c_is_found(self):
        for verify in ("transfer", "store"):
            self.assertEqual(self.engine("--verify", verify, "gs://models/m/", self.dest), 7, self.output)
            self.assertIn("object 'big' does not have the hash that its store states", self.output)
            self.assertFalse(self.dest.exists())

    def test_a_right_one_is_accepted(self):
        for verify in ("transfer", "store"):
            dest = self.dir / verify
            self.assertEqual(self.engine("--verify", verify, "--exclude", "big", "gs://models/m/", dest), 0,
                             self.output)
            self.assertEqual((dest / 'quote".bin').read_bytes(), b"three")


if __name__ == "__main__":
    unittest.main()
