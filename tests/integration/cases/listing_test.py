#!/usr/bin/env python3
"""Cases L2, L5, I1, I5, H7: one list for all nodes, and sources that change behind it."""

import mmap
import os
import random
import resource
import shutil
import tempfile
import threading
import unittest

from case import URL, CaseTest

DATA = random.Random(5).randbytes(1_000_001)
OTHER = random.Random(6).randbytes(1_000_001)
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 12345678\n"


class ListingTest(CaseTest):
    files = {"m/a.bin": DATA, "m/b.bin": b"b" * 70_000, "m/c": b"c"}

    def after(self, gets, act):
        """Runs `act` once, before the blob request with that number is answered."""
        done = threading.Event()

        def before(_handler, name, _query):
            if name is not None:
                with self.store.lock:
                    self.seen += 1
                    now = self.seen > gets and not done.is_set()
                    if now:
                        done.set()
                        act()
            return False

        self.seen = 0
        self.store.before = before

    # L2

    def test_a_long_list_with_strange_marks(self):
        self.store.files = {f"m/{i:05}": str(i).encode() for i in range(1003)}
        for marker, size in (("1oDM+g/plc=={}", 100), ("a!b&c%41 2%2B?# d{}=", 333)):
            with self.subTest(marker=marker):
                self.store.marker, self.store.page_size = marker, size
                before = self.store.lists()
                self.staged(files=self.store.files)
                self.assertEqual(self.store.lists() - before, -(-1003 // size))
                self.dest = self.dir / str(size)

    # L5

    def test_one_rank_lists_for_all(self):
        def before(_handler, name, _query):
            if name is None:  # who lists later would see more
                self.store.files[f"m/late-{self.store.lists()}"] = b"late"
            return False

        self.store.before = before
        self.staged("--chunk-size", "64KiB", ranks=3, files={**self.files, "m/late-1": b"late"})
        self.assertEqual(self.store.lists(), 1)
        gets = self.store.gets()
        self.assertEqual(len(gets), len(set(gets)))  # each range by one node only
        self.assertEqual(self.store.sent, sum(map(len, self.files.values())) + 4)

    def test_a_blob_that_vanished_fails_all_nodes_by_its_name(self):
        self.after(0, lambda: self.store.files.pop("m/b.bin"))
        self.stage("--chunk-size", "64KiB", ranks=3)
        self.refused(3, "object 'b.bin'", "deleted since it was listed", "BlobNotFound")

    # I1

    def replaced(self):
        self.store.files["m/a.bin"] = OTHER
        self.store.etags["m/a.bin"] = "v2"

    def test_replaced_half_way_with_the_same_size(self):
        for ranks in (1, 3):
            with self.subTest(ranks=ranks):
                self.store.files, self.store.etags = dict(self.files), {}
                self.after(6, self.replaced)
                self.stage("--chunk-size", "64KiB", "--concurrency", "2", ranks=ranks)
                self.refused(5, "object 'a.bin': it changed during the download")

    def test_replaced_half_way_at_a_server_that_ignores_conditions(self):
        def blob(handler, name):
            with self.store.lock:
                data, etag = self.store.files[name], self.store.etags.get(name, "v1")
            handler.reply_file(data, {"ETag": f'"{etag}"'})

        self.store.blob = blob
        self.after(6, self.replaced)
        self.stage("--concurrency", "2")
        self.refused(5, "object 'a.bin': it changed during the download")

    def test_only_the_metadata_changed_half_way(self):
        self.after(6, lambda: self.store.etags.update({"m/a.bin": "v2"}))
        self.stage("--concurrency", "2")
        self.refused(5, "object 'a.bin': it changed during the download")

    def test_a_new_version_between_the_list_and_the_first_get(self):
        self.after(0, self.replaced)
        self.stage("--chunk-size", "64KiB", ranks=3)
        self.refused(5, "object 'a.bin': it changed during the download")

    def test_the_next_run_takes_the_new_version_and_nothing_of_the_old(self):
        self.after(6, self.replaced)
        self.stage("--concurrency", "2")
        self.refused(5, "it changed during the download")
        self.store.before = lambda *_: False
        self.staged(files={**self.files, "m/a.bin": OTHER})

    # I5

    def test_what_the_store_holds_is_what_is_staged(self):
        index = b'{"weight_map": {"a": "model-00002-of-00002.safetensors"}}'
        files = {"m/model-00001-of-00002.safetensors": POINTER, "m/model.safetensors.index.json": index}
        self.store.files = files
        self.staged(files=files)
        self.assertIn("warning: 'model-00001-of-00002.safetensors' is a pointer of git LFS", self.output)
        self.assertIn("warning: 'model.safetensors.index.json' names 'model-00002-of-00002.safetensors' "
                      "that is not there", self.output)

    def test_an_empty_index_is_staged_like_any_file(self):
        files = {"m/model.safetensors.index.json": b"", "m/config.json": b"{}"}
        self.store.files = files
        self.staged(files=files)
        self.assertNotIn("warning", self.output)

    # H7

    def test_a_plan_of_terabytes(self):
        sizes = [(1 << 31) - 1, 1 << 31, 1 << 32, (1 << 32) + 1, 6 << 40]
        self.store.files = {f"m/{i}": (size,) for i, size in enumerate(sizes)}
        self.assertEqual(self.stage("--dry-run", "--chunk-size", "1GiB"), 0, self.output)
        self.assertIn("5 objects, 6 TiB", self.output)
        self.assertIn(f"{2 + 2 + 4 + 5 + 6144} chunks of up to 1 GiB", self.output)
        self.assertEqual(self.store.gets(), [])
        self.stage()
        self.refused(4, "6 TiB")

    def test_what_does_not_fit_is_refused_before_it_is_planned(self):
        """A plan of 4 PiB takes more memory than this."""
        self.store.files = {"m/sparse": (4 << 50,)}
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_AS, (soft, hard))
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, hard))
        self.stage()
        self.refused(4, "not enough space for", "4 PiB needed")

    def test_a_whole_file_beyond_32_bits(self):
        size, piece = (1 << 32) + 5, 32 << 20
        marks = {at: b"<%d>" % at for at in (0, (1 << 31) - 5, (1 << 31) + piece, (1 << 32) - 7, size - 3)}
        memory = "/dev/shm"  # where there is room: disks of CI take half a minute for it
        roomy = os.path.isdir(memory) and shutil.disk_usage(memory).free > size + (1 << 30)
        with (tempfile.TemporaryDirectory(dir=memory if roomy else self.dir) as place,
              tempfile.TemporaryFile(dir=self.dir) as sparse):
            sparse.truncate(size)
            for at, text in marks.items():
                sparse.seek(at)
                sparse.write(text[:size - at])
            sparse.flush()
            with mmap.mmap(sparse.fileno(), size, access=mmap.ACCESS_READ) as data:
                self.store.files = {"m/big": data}
                self.assertEqual(self.engine("--block-size", "32MiB", URL, f"{place}/dest"), 0, self.output)
                with open(f"{place}/dest/big", "rb") as file:
                    for at in range(0, size, piece):
                        self.assertEqual(file.read(piece), data[at:at + piece], f"from byte {at}")
                    self.assertEqual(file.read(1), b"")

    def test_sizes_that_are_none(self):
        for size in (-1, 1 << 64, "12x", ""):
            self.store.files = {"m/a": (size,)}
            self.stage()
            self.refused(3, "object 'a' has no valid size in the server's list")

    def test_sizes_that_no_disk_has(self):
        for sizes, name in ((((1 << 64) - 1,), "m0"), ((1, (1 << 64) - 1), "m1"), ((1 << 60, 1 << 60), "m1")):
            self.store.files = {f"m/m{i}": (size,) for i, size in enumerate(sizes)}
            for options in ((), ("--dry-run",)):
                self.stage(*options)
                self.refused(3, f"object '{name}' has ", "more than 1 EiB cannot be staged")


if __name__ == "__main__":
    unittest.main()
