"""What the files beside it share: the engine against tests/support/store_mock.py."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../support"))
from mock import EngineTest  # noqa: E402
from store_mock import KEY, SAS, Store  # noqa: E402,F401

URL = "az://acct/models/m/"


class CaseTest(EngineTest):
    files = {}

    def setUp(self):
        super().setUp()
        self.store = self.service(Store(dict(self.files)))
        self.env["AZURE_STORAGE_BLOB_ENDPOINT"] = self.store.endpoint
        self.env["AZURE_STORAGE_SAS_TOKEN"] = SAS
        self.env["no_proxy"] = "*"

    def stage(self, *arguments, url=URL, ranks=1, **more):
        self.ranks = ranks
        self.json = self.dir / "report.json"
        self.json.unlink(missing_ok=True)
        self.code = self.engine("--block-size", "64KiB", "--json", self.json, *arguments, url, self.dest,
                                ranks=ranks, **more)
        return self.code

    def dests(self):
        return [self.dest, *(self.dir / f"dest-{rank}" for rank in range(1, self.ranks))]

    def staged(self, *arguments, files=None, **more):
        """Exit code 0, exact bytes on every node, and the report says the same."""
        self.assertEqual(self.stage(*arguments, **more), 0, self.output)
        expected = self.files if files is None else files
        expected = {name.removeprefix("m/"): data for name, data in expected.items()}
        for dest in self.dests():
            self.assertStaged(expected, dest)
        report = json.loads(self.json.read_text())
        self.assertEqual(report["objects"], len(expected))
        self.assertEqual(report["model_bytes"], sum(map(len, expected.values())))
        self.assertEqual(report["ranks"], self.ranks)
        return report

    def refused(self, code, *words):
        """The exit code, one line with the words, nothing under any final name, no report."""
        self.assertEqual(self.code, code, self.output)
        lines = [line for line in self.output.splitlines()
                 if line.strip() and not line.startswith(("[tune]", "--------------------------------"))]
        said = [line for line in lines if line.startswith("stage-engine: ")]
        self.assertEqual(len(said), 1, self.output)
        for word in words:
            self.assertIn(word, said[0])
        self.assertNotIn("sig=", self.output)
        self.assertFalse(self.json.exists(), self.output)
        for dest in self.dests():
            self.assertFalse(dest.exists(), dest)
        return said[0]
