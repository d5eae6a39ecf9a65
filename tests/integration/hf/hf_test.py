#!/usr/bin/env python3
"""hf:// against a hub of our own (tests/support/hub.py), and beside it the real client,
huggingface_hub, against the same one. Cases H6, I5, T2, U3, N1, D2, L5."""

import os
import random
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../support"))
from hub import POINTER, Hub  # noqa: E402
from mock import EngineTest, Service  # noqa: E402

WEIGHTS = random.Random(1).randbytes(1_000_003)
FILES = {
    "config.json": b'{"a": 1}',
    "tokenizer/merges.txt": b"a b\n" * 1000,
    "model-00001.safetensors": WEIGHTS,
    "sub dir/a b%20c#d+e&f.bin": b"strange" * 100,
    "empty": b"",
    ".gitattributes": b"*.safetensors filter=lfs\n",
}
LFS = ["model-00001.safetensors", "sub dir/a b%20c#d+e&f.bin"]


class HfTest(EngineTest):
    def setUp(self):
        super().setUp()
        self.hub = self.service(Hub())
        self.commit = self.hub.add("org/model", FILES, lfs=LFS)
        self.env["HF_ENDPOINT"] = self.hub.origin

    def stage(self, url="hf://org/model", *arguments, **more):
        self.code = self.engine("--block-size", "64KiB", *arguments, url, self.dest, **more)
        return self.code

    def staged(self, url="hf://org/model", files=None, *arguments, **more):
        self.assertEqual(self.stage(url, *arguments, **more), 0, self.output)
        self.assertStaged(FILES if files is None else files)

    def paths(self, part):
        return [path for _, path, _, _ in self.hub.requests if part in path]

    def test_the_tree_is_exact_and_of_one_commit(self):
        self.staged()
        self.assertTrue(self.paths("/resolve/"))
        for path in self.paths("/resolve/"):
            self.assertIn(f"/resolve/{self.commit}/", path)
        self.assertEqual(len(self.paths("/revision/main")), 1)

    def test_a_file_that_redirects_is_resolved_once(self):
        self.staged()
        asked = [path for path in self.paths("/resolve/") if path.endswith("model-00001.safetensors")]
        self.assertEqual(len(asked), 1)
        self.assertGreater(len(self.hub.cdn.requests), 16)

    def test_the_token_goes_to_the_hub_and_never_to_its_cdn(self):
        self.hub.repos["models/org/model"]["private"] = True
        self.staged(HF_TOKEN=self.hub.token)
        self.assertTrue(self.hub.cdn.requests)
        for _, _, headers, _ in self.hub.cdn.requests:
            self.assertNotIn("Authorization", headers)
        for _, _, headers, _ in self.hub.requests:
            self.assertEqual(headers.get("Authorization"), f"Bearer {self.hub.token}")

    def test_there_and_back_and_the_token_only_at_home(self):
        """hub -> elsewhere -> hub, for a private file: the hub wants the token again, the other never."""
        class Elsewhere(Service):
            home = None

            def answer(self, handler):
                handler.reply(302, b"", {"Location": f"{self.home}/back{handler.path}"})

        class Back(Hub):
            elsewhere = None

            def answer(self, handler):
                if handler.path.startswith("/back/"):
                    known = handler.headers.get("Authorization") == f"Bearer {self.token}"
                    data = self.repos["models/org/model"]["files"]["config.json"]
                    return handler.reply_file(data) if known else handler.reply(401)
                if handler.path.endswith("/config.json") and "/resolve/" in handler.path:
                    return handler.reply(302, b"", {"Location": f"{self.elsewhere}/config.json"})
                return super().answer(handler)

        hub, elsewhere = self.service(Back()), self.service(Elsewhere())
        hub.add("org/model", FILES, lfs=LFS, private=True)
        hub.elsewhere, elsewhere.home = elsewhere.origin, hub.origin
        self.staged(HF_ENDPOINT=hub.origin, HF_TOKEN=hub.token)
        self.assertTrue(elsewhere.requests)
        for _, _, headers, _ in elsewhere.requests + hub.cdn.requests:
            self.assertNotIn("Authorization", headers)
        back = [headers for _, path, headers, _ in hub.requests if path.startswith("/back/")]
        self.assertTrue(back)
        for headers in back:
            self.assertEqual(headers.get("Authorization"), f"Bearer {hub.token}")

    def test_signed_urls_that_run_out_in_time_are_asked_for_again(self):
        """After a second, while ranges are still fetched: each takes a while, one at a time."""
        answer = self.hub.cdn.answer
        self.hub.cdn.life = 1
        self.hub.cdn.answer = lambda handler: (threading.Event().wait(0.2), answer(handler))
        self.staged("hf://org/model", None, "--concurrency", "1")
        self.assertGreater(
            len([p for p in self.paths("/resolve/") if p.endswith("model-00001.safetensors")]), 2)

    def test_a_limit_per_address_with_many_nodes_and_files(self):
        """50 requests of an address, then 429 until it has been quiet for a moment."""
        class Limited(Hub):
            left, since = 50, 0.0

            def answer(self, handler):
                with self.lock:
                    now = time.monotonic()
                    if now - self.since > 1:
                        self.left = 50
                    self.since = now
                    self.left -= 1
                    full = self.left < 0
                    self.refused = getattr(self, "refused", 0) + full
                if full:
                    return handler.reply(429, b"", {"Retry-After": "2"})
                return super().answer(handler)

        hub = self.service(Limited())
        hub.page = 100
        files = {f"{i:03}.json": f"file {i}".encode() for i in range(200)}
        hub.add("org/many", files)
        self.staged("hf://org/many", files, ranks=8, HF_ENDPOINT=hub.origin)
        for rank in range(1, 8):
            self.assertStaged(files, self.dir / f"dest-{rank}")
        self.assertGreater(hub.refused, 0)
        asked = [path for _, path, _, _ in hub.requests if "/resolve/" in path]
        self.assertEqual(len(set(asked)), 200)
        self.assertEqual(len([path for _, path, _, _ in hub.requests if "/tree/" in path]), 2)
        # Each file was answered once; the others are refusals.
        self.assertLessEqual(len(asked), 200 + hub.refused)

    def test_nothing_but_plain_https_is_asked_of_a_hub_with_xet(self):
        """The hub offers xet for each LFS file: X-Xet-Hash, xetHash."""
        self.staged(HF_TOKEN=self.hub.token)
        for path in self.paths("/"):
            self.assertRegex(path, r"^/(api/models/org/model/(revision|tree)/|org/model/resolve/)")
            self.assertNotIn("xet", path)
        for _, path, headers, _ in self.hub.cdn.requests:
            self.assertTrue(path.startswith("/lfs/"), path)
            self.assertIn("Range", headers)

    def test_tokens_of_files(self):
        self.hub.repos["models/org/model"]["private"] = True
        named = self.dir / "named"
        named.write_text(self.hub.token + "\n")
        self.staged(HF_TOKEN_PATH=str(named))
        cache = self.home / ".cache/huggingface"
        cache.mkdir(parents=True)
        (cache / "token").write_text(self.hub.token)
        self.dest = self.dir / "again"
        self.staged()

    def test_signed_urls_that_expire_are_asked_for_again(self):
        self.hub.cdn.uses = 5
        self.staged()
        self.assertGreater(
            len([p for p in self.paths("/resolve/") if p.endswith("model-00001.safetensors")]), 2)

    def test_revisions(self):
        for revision in ("v1.0", "refs/pr/1", "refs%2Fpr%2F1", self.commit):
            self.dest = self.dir / revision.replace("/", "_")
            self.staged(f"hf://org/model@{revision}")
        self.stage("hf://org/model@nosuch")
        self.dest = self.dir / "none"
        self.assertIn("no revision 'nosuch'", self.output)
        self.assertEqual(self.code, 3)

    def test_parts_of_a_repository(self):
        self.staged("hf://org/model/tokenizer", {"merges.txt": FILES["tokenizer/merges.txt"]})
        self.dest = self.dir / "one"
        self.staged("hf://org/model@v1.0/config.json", {"config.json": FILES["config.json"]})

    def test_datasets(self):
        self.hub.add("org/data", {"x.parquet": b"PAR1" * 99}, kind="datasets", lfs=["x.parquet"])
        self.staged("hf://datasets/org/data", {"x.parquet": b"PAR1" * 99})

    def test_who_may_not_is_told_why(self):
        self.hub.add("org/gated", {"a": b"a"}, gated=True)
        self.hub.add("org/refused", {"a": b"a"}, gated="all")
        self.stage("hf://org/none")
        self.assertFails(3, "no such repository, or it is private", "set HF_TOKEN", "RepoNotFound", "req-77")
        self.stage("hf://org/none", HF_TOKEN=self.hub.token)
        self.assertFails(3, "no such repository, or this token may not see it")
        self.stage("hf://org/gated")
        self.assertIn("gated: accept its terms at", self.output)
        self.assertIn("then set HF_TOKEN", self.output)
        self.assertEqual(self.code, 3)
        self.stage("hf://org/refused", HF_TOKEN=self.hub.token)
        self.assertIn("this token's user has no access", self.output)
        self.stage(HF_TOKEN="hf_REVOKEDREVOKED")
        self.assertFails(3, "the token is not accepted")
        self.assertNotIn("REVOKED", self.output)

    def test_pointers_are_no_weights(self):
        self.hub.pointers.add("model-00001.safetensors")
        self.assertEqual(self.stage(), 7, self.output)
        self.assertIn("the pointer that git LFS keeps", self.output)
        self.assertFalse(self.dest.exists())
        text = POINTER.format("a" * 64, 12345).encode()
        self.hub.add("org/half", {"m.safetensors": text})
        self.stage("hf://org/half")
        self.assertFails(3, "'m.safetensors' is the pointer of git LFS")

    def test_damage_is_found_by_either_hash(self):
        for name in ("model-00001.safetensors", "config.json"):
            self.hub.damaged = {name}
            self.assertEqual(self.stage("hf://org/model", "--verify", "store"), 7, self.output)
            self.assertIn(name, self.output)
            self.assertFalse(self.dest.exists())

    def test_a_limit_on_requests_is_waited_for(self):
        self.hub.throttle = 3
        self.staged()

    def test_a_renamed_repository_is_followed_with_the_token(self):
        self.hub.renamed = {"old/name": "org/model"}
        self.hub.repos["models/org/model"]["private"] = True
        self.staged("hf://old/name", HF_TOKEN=self.hub.token)

    def test_a_loop_is_refused(self):
        self.hub.renamed = {"old/name": "old/name"}
        self.stage("hf://old/name")
        self.assertFails(3, "redirects in a loop")

    def test_a_second_run_of_the_same_commit_asks_for_no_file(self):
        for ranks in (1, 3):
            self.dest = self.dir / f"of-{ranks}"
            self.staged(ranks=ranks)
            before, served = len(self.hub.requests), len(self.hub.cdn.requests)
            self.staged(ranks=ranks)
            # Which commit it is, by one rank: neither its list nor a file is asked for.
            asked = [path for _, path, _, _ in self.hub.requests[before:]]
            self.assertEqual(asked, ["/api/models/org/model/revision/main"])
            self.assertEqual(len(self.hub.cdn.requests), served)

    def test_a_commit_that_is_held_needs_no_hub(self):
        source = f"hf://org/model@{self.commit}"
        for ranks in (1, 3):
            self.dest = self.dir / f"of-{ranks}"
            self.staged(source, ranks=ranks)
            before = len(self.hub.requests)
            self.staged(source, ranks=ranks)
            self.assertEqual(self.hub.requests[before:], [])

    def test_a_kept_list_serves_nothing_else(self):
        source = f"hf://org/model@{self.commit}"
        self.staged(source)
        one = len(self.paths("/tree/"))  # requests of a list: it has pages
        # Other filters, a part of the repository, and a damaged list: asked for again.
        self.assertEqual(self.stage(source, "--include", "config.json"), 0, self.output)
        self.assertStaged({"config.json": FILES["config.json"]})
        self.assertEqual(len(self.paths("/tree/")), 2 * one)
        self.staged(source)
        self.assertEqual(len(self.paths("/tree/")), 3 * one)
        kept = self.dest / ".stage-model" / "list"
        kept.write_bytes(kept.read_bytes()[:-1])
        self.staged(source)
        self.assertEqual(len(self.paths("/tree/")), 4 * one)

    def test_a_new_commit_moves_only_the_files_that_changed(self):
        self.staged()
        files = {**FILES, "config.json": b'{"a": 2}', "new.txt": b"new"}
        self.assertNotEqual(self.hub.add("org/model", files, lfs=LFS), self.commit)
        before = len(self.paths("/resolve/"))
        self.staged(files=files)
        asked = {path.split("/")[-1] for path in self.paths("/resolve/")[before:]}
        self.assertEqual(asked, {"config.json", "new.txt"})
        self.assertIn("[download] 11 bytes", self.output)

    def test_one_rank_lists_and_each_range_is_fetched_once(self):
        self.staged("hf://org/model", None, "--chunk-size", "128KiB", ranks=3,
                    HF_TOKEN=self.hub.token)
        self.assertEqual(len(self.paths("/revision/")), 1)
        ranges = [(path.split("?")[0], headers.get("Range")) for _, path, headers, _ in self.hub.cdn.requests]
        self.assertEqual(len(ranges), len(set(ranges)))

    def test_a_token_of_rank_0_serves_all(self):
        self.hub.repos["models/org/model"]["private"] = True
        self.staged("hf://org/model", None, "--chunk-size", "64KiB", ranks=3,
                    only_rank_0=["HF_TOKEN"], HF_TOKEN=self.hub.token)
        for rank in (1, 2):
            self.assertStaged(FILES, self.dir / f"dest-{rank}")
        asked = {headers.get("Authorization") for _, _, headers, _ in self.hub.requests}
        self.assertEqual(asked, {f"Bearer {self.hub.token}"})

    def test_plain_http_hubs_elsewhere_are_refused(self):
        self.stage(HF_ENDPOINT="http://hub.example", HF_TOKEN=self.hub.token)
        self.assertFails(2, "would show the token", "STAGE_ALLOW_HTTP=1")

    def test_whoami(self):
        self.assertEqual(self.engine("--whoami", "hf://org/model", HF_TOKEN=self.hub.token), 0)
        self.assertIn("token (HF_TOKEN)", self.output)
        self.assertNotIn(self.hub.token, self.output)
        self.assertEqual(self.engine("--whoami", "hf://org/model"), 0)
        self.assertIn("hf://org/model@main: anonymous\n", self.output)
        for why in ("HF_TOKEN is not set", "HUGGING_FACE_HUB_TOKEN is not set", "there is no file "):
            self.assertIn("\n  not token: " + why, self.output)

    @unittest.skipUnless(os.environ.get("STAGE_HF_PYTHON"), "STAGE_HF_PYTHON: tests/support/hf_client.sh")
    def test_the_real_client_gets_the_same_tree(self):
        real = self.dir / "real"
        program = ("from huggingface_hub import snapshot_download; import sys;"
                   "snapshot_download('org/model', local_dir=sys.argv[1])")
        done = subprocess.run([os.environ["STAGE_HF_PYTHON"], "-c", program, str(real)],
                              env={**self.env, "HF_TOKEN": self.hub.token, "HF_HUB_DISABLE_XET": "1"},
                              capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.staged(HF_TOKEN=self.hub.token)
        theirs = {path.relative_to(real).as_posix(): path.read_bytes() for path in real.rglob("*")
                  if path.is_file() and ".cache" not in path.parts}
        self.assertStaged(theirs)


if __name__ == "__main__":
    unittest.main()
