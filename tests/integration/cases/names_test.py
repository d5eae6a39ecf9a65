#!/usr/bin/env python3
"""Cases N1, N4, N5, N7, D1, D2: from an object's name to a file's, on disk."""

import os
import stat
import unittest

from case import KEY, CaseTest

STRANGE = {f"m/{name}": f"these are the bytes of {name}".encode() for name in (
    "a/b c%20d#e?.bin", "50%.bin", "abc.%22", "abc.%21", "abc.%23", "abc.%2F", "100%0A/x", "x+y&z=$^.bin",
    "..\\..\\x", "...", "läma/모델 №1.safetensors", "new\nline")}


class NamesTest(CaseTest):
    files = STRANGE

    # N1

    def test_strange_names_with_a_sas(self):
        self.staged()

    def test_strange_names_with_a_shared_key(self):
        del self.env["AZURE_STORAGE_SAS_TOKEN"]
        self.staged(AZURE_STORAGE_KEY=KEY)
        self.assertEqual(self.store.count("sig="), 0)

    def test_strange_names_with_a_token(self):
        del self.env["AZURE_STORAGE_SAS_TOKEN"]
        self.staged(AZURE_POD_IDENTITY_AUTHORITY_HOST=self.store.origin)
        self.assertEqual(self.store.count("sig="), 0)

    def test_nothing_matched_is_no_success(self):
        self.stage(url="az://acct/models/none/")
        self.refused(3, "nothing found under ")
        self.stage("--include", "*.onnx")
        self.refused(3, "none of the ")

    # N4, N5

    def test_names_that_lead_out_are_refused_before_anything_is_written(self):
        canary = self.dir / "a/b/c"
        canary.mkdir(parents=True)
        (self.dir / "a/outside").write_text("canary")
        self.dest = canary / "dest"
        for name in ("model/../../../etc/cron.d/x", "/etc/cron.d/evil", "a/../b.bin", "..", "../outside", "a/./b",
                     "foo/../key.txt"):
            with self.subTest(name=name):
                self.store.files = {"m/good.bin": b"good", "m/key.txt": b"key", "m/zz": b"z", "m/" + name: b"evil"}
                before = len(self.store.gets())
                self.stage()
                self.refused(3, f"object '{name}'")
                self.assertEqual(len(self.store.gets()), before)  # no byte was asked for
                found = sorted(str(path.relative_to(self.dir / "a")) for path in (self.dir / "a").rglob("*"))
                self.assertEqual(found, ["b", "b/c", "outside"])
                self.assertEqual((self.dir / "a/outside").read_text(), "canary")

    def test_one_object_with_dots_in_its_name_is_never_another(self):
        self.store.files = {"foo/../key.txt": b"the one with dots", "key.txt": b"another"}
        if self.stage(url="az://acct/models/foo/../key.txt") == 0:
            self.assertStaged({"key.txt": b"the one with dots"})
        else:
            self.refused(self.code, "foo/../key.txt")

    def test_names_outside_the_prefix_are_refused(self):
        self.store.list = lambda query: (
            "<EnumerationResults><Blobs>" + self.store.entry("m/a", b"a") + self.store.entry("q/evil", b"evil") +
            "</Blobs><NextMarker/></EnumerationResults>")
        self.stage()
        self.refused(3, "'q/evil'", "outside")

    # N7

    def test_long_names(self):
        self.store.files = {"m/" + name: name.encode() for name in ("n" * 250, "n" * 255, "é" * 127 + "n", "모" * 85)}
        self.staged(files=self.store.files)

    def test_names_that_are_too_long_are_refused_at_plan_time(self):
        for name, limit in (("n" * 256, "255"), ("é" * 128, "255"), ("d/" + "모" * 86, "255"),
                            ("component/" * 420 + "x", "4095")):
            with self.subTest(name=name[:20], bytes=len(name.encode())):
                self.store.files = {"m/a": b"good", "m/" + name: b"x"}
                before = len(self.store.gets())
                self.stage()
                self.refused(3, limit, "object '" + name[:10])
                self.assertEqual(len(self.store.gets()), before)

    # D1

    def test_markers_become_directories_and_empty_blobs_files(self):
        self.store.markers = {"m/step/ema": True, "m/hollow": True}
        self.store.files = {"m": b"", "m/step/ema/f.bin": b"data", "m/llama/": b"", "m/llama/x": b"x",
                            "m/implicit": b"", "m/implicit/y": b"y", "m/empty.txt": b""}
        for url in ("az://acct/models/m/", "az://acct/models/m"):
            self.staged(url=url, files={"step/ema/f.bin": b"data", "llama/x": b"x", "implicit/y": b"y", "empty.txt": b""})
            for name in ("step/ema", "hollow", "llama", "implicit"):
                self.assertTrue(stat.S_ISDIR(os.lstat(self.dest / name).st_mode), name)
            self.dest = self.dir / "again"

    def test_a_file_that_is_a_directory_too_is_refused_before_the_download(self):
        self.store.files = {"m/data": b"0123456789", "m/data/x.bin": b"x"}
        self.stage()
        self.refused(3, "object 'data' is a file and also the directory")
        self.assertEqual(self.store.gets(), [])

    # D2

    def test_one_blob_or_a_prefix(self):
        self.store.files = {"m/llama.gguf": b"weights", "m/llama/a": b"a", "m/llama-70b/b": b"b"}
        self.staged(url="az://acct/models/m/llama.gguf", files={"llama.gguf": b"weights"})
        self.dest = self.dir / "prefix"
        for url in ("az://acct/models/m/llama", "az://acct/models/m/llama/"):
            self.staged(url=url, files={"a": b"a"})
        self.store.files["m/llama.gguf/x"] = b"more"
        self.dest = self.dir / "both"
        self.staged(url="az://acct/models/m/llama.gguf", files={"llama.gguf": b"weights"})
        self.assertIn("llama.gguf is an object and a directory", self.output)
        self.dest = self.dir / "slash"
        self.staged(url="az://acct/models/m/llama.gguf/", files={"x": b"more"})

    # file:///

    def test_a_model_inside_of_its_source_is_refused(self):
        source = self.dir / "source"
        (source / "sub").mkdir(parents=True)
        (source / "a").write_bytes(b"a")
        (self.dir / "link").symlink_to(source)
        for self.dest in (source / "sub" / "model", source / "model", self.dir / "link" / "model"):
            self.stage(url=f"file://{source}/")
            self.refused(2, "DEST: lies in SOURCE")
        self.dest = self.dir / "source-of-others"
        self.staged(url=f"file://{source}/", files={"a": b"a"})


if __name__ == "__main__":
    unittest.main()
