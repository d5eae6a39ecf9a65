#!/usr/bin/env python3
"""Cases A1, A4, A5, A6: who we are, and what a refusal says."""

import concurrent.futures
import email.utils
import os
import subprocess
import threading
import time
import unittest
import urllib.parse

from case import CaseTest
from mock import ENGINE

WHO = "as SAS"


def sas(start=None, end=None, permissions="rl"):
    def when(seconds):
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))

    fields = {"sv": "2021-08-06", "sp": permissions, "sig": "STOREsig="}
    if start is not None:
        fields["st"] = when(start)
    if end is not None:
        fields["se"] = when(end)
    return urllib.parse.urlencode(fields)


class DeniedTest(CaseTest):
    files = {"m/a.bin": b"a" * 500_000, "m/b.bin": b"b" * 70_000}

    def refuse_first_get(self, refuse):
        """The first GET of a blob, on whichever node asks it, is answered by `refuse`."""
        first = []

        def before(handler, name, _query):
            with self.store.lock:
                mine = name is not None and not first
                if mine:
                    first.append(name)
            if mine:
                refuse(handler)
            return mine

        self.store.before = before

    def denied(self, status, code, part="list", headers=()):
        """Refuses the list, or the blobs, with that."""
        def before(handler, name, _query):
            if (part == "list") != (name is None):
                return False
            self.store.error(handler, status, code, headers)
            return True

        self.store.before = before

    # A6

    def test_each_refusal_has_all_the_facts_and_is_not_repeated(self):
        for status, code, advice in (
                (403, "AuthorizationFailure", "a firewall or private endpoint rule"),
                (403, "AuthorizationPermissionMismatch", "Storage Blob Data Reader"),
                (409, "PublicAccessNotPermitted", "no public access"),
                (403, "AuthenticationFailed", "the key or signature is not accepted"),
                (403, "AuthorizationSourceIPMismatch", "bound to other addresses"),
                (404, "ContainerNotFound", "there is no container 'models'")):
            for part in ("list", "blobs"):
                with self.subTest(code=code, part=part):
                    self.denied(status, code, part)
                    lists, gets = self.store.lists(), len(self.store.gets())
                    # One request in flight, or all would be refused at once.
                    self.stage("--concurrency", "1")
                    # localhost has an address, unlike 127.0.0.1, which would be shown once only.
                    self.refused(3, advice, f"HTTP {status} {code}, request id id-1, localhost:", " at ", WHO)
                    self.assertRegex(self.output, r"localhost:\d+ at (127\.0\.0\.1|::1), as SAS")
                    self.assertEqual(self.store.lists() - lists, 1)
                    self.assertEqual(len(self.store.gets()) - gets, 0 if part == "list" else 1)

    def test_who_has_no_identity_is_told_how_to_get_one(self):
        self.denied(403, "AuthorizationFailure", "list")
        self.stage(AZURE_STORAGE_SAS_TOKEN="")
        self.refused(3, "not allowed without an identity", "set AZURE_STORAGE_SAS_TOKEN", "as anonymous")

    def test_a_refusal_on_one_node_ends_all_and_names_it(self):
        """The first GET of all fails, on whichever node asks it."""
        self.refuse_first_get(lambda handler: self.store.error(handler, 403, "AuthorizationFailure"))
        self.stage("--chunk-size", "64KiB", ranks=3)
        said = self.refused(3, "HTTP 403 AuthorizationFailure", WHO)
        self.assertRegex(said, r"^stage-engine: n[012]: object '")

    def test_a_name_that_cannot_be_resolved(self):
        self.stage(AZURE_STORAGE_BLOB_ENDPOINT="https://acct.no-such-zone.invalid")
        self.refused(3, "the name acct.no-such-zone.invalid cannot be resolved", "'acct' the right storage account",
                     "DNS")

    # A5

    def test_a_wrong_clock_names_both_times_and_the_node(self):
        date = time.time() - 1200

        def refuse(handler):
            handler.date_time_string = lambda *_: email.utils.formatdate(date, usegmt=True)
            self.store.error(handler, 403, "AuthenticationFailed")

        self.refuse_first_get(refuse)
        self.stage("--chunk-size", "64KiB", ranks=3)
        said = self.refused(3, "the clock of node n", " is wrong: here 2",
                            "at the server " + time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(date)))
        self.assertRegex(said, r"^stage-engine: n[012]: ")

    # A7

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_no_core_dump_and_no_look_into_the_process(self):
        """Of a process that may not be dumped, /proc is root's, whoever runs it."""
        asked = threading.Event()

        def before(handler, name, _query):
            if name is None:
                return False
            asked.set()
            return self.store.hold(handler)

        self.store.before = before
        for path in (self.dir, self.home):
            path.chmod(0o777)
        user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        command = [*user, ENGINE, "--no-progress", "az://acct/models/m/", str(self.dest)]
        with subprocess.Popen(command, env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as engine:
            try:
                self.assertTrue(asked.wait(60))
                self.assertEqual(os.stat(f"/proc/{engine.pid}").st_uid, 65534)  # the folder itself is the user's
                look = subprocess.run([*user, "cat", f"/proc/{engine.pid}/environ"], capture_output=True, check=False)
                self.assertNotEqual(look.returncode, 0, look.stdout)
                self.assertEqual(os.stat(f"/proc/{engine.pid}/environ").st_uid, 0)
            finally:
                engine.kill()

    # A4

    def test_a_signature_that_ends_in_the_middle(self):
        """It is good for 3 s; then the server refuses it, at once and for good."""
        end = time.time() + 3

        def before(handler, name, _query):
            if name is not None:
                threading.Event().wait(0.5)
            if time.time() < end:
                return False
            self.refusals += 1
            self.store.error(handler, 403, "AuthenticationFailed")
            return True

        self.refusals = 0
        self.store.before = before
        self.stage("--concurrency", "1", AZURE_STORAGE_SAS_TOKEN=sas(end=3))
        self.refused(3, "object '", "the SAS expired at ")
        self.assertEqual(self.refusals, 1)

    def test_a_signature_that_cannot_work_is_refused_before_it_is_sent(self):
        for token, why in ((sas(end=-5), "the SAS expired at "),
                           (sas(start=3600, end=7200), "the SAS is not valid before "),
                           (sas(end=60, permissions="r"), "sp=r, staging needs read and list"),
                           (sas(end=60, permissions="l"), "sp=l, staging needs read and list"),
                           (sas(end=60, permissions="racwd"), "sp=racwd, staging needs read and list")):
            for variables, url in (({"AZURE_STORAGE_SAS_TOKEN": token}, "az://acct/models/m/"),
                                   ({"AZURE_STORAGE_SAS_TOKEN": ""}, "az://acct/models/m/?" + token)):
                self.stage(url=url, **variables)
                self.refused(3, why)
        self.assertEqual(self.store.requests, [])

    # A1

    def imds(self, **more):
        self.env.pop("AZURE_STORAGE_SAS_TOKEN", None)
        return {"AZURE_POD_IDENTITY_AUTHORITY_HOST": self.store.origin, **more}

    def test_each_trouble_of_imds_is_waited_out(self):
        for answers in ([(429, {"Retry-After": "1"})] * 2, [(429, {})] * 2, [(410, {})], [(404, {})], [(500, {})],
                        [(429, {}), (410, {}), (500, {})]):
            with self.subTest(answers=answers):
                self.store.imds = list(answers)
                before = self.store.count("/metadata/")
                self.dest = self.dir / f"dest{before}"
                self.staged(**self.imds())
                self.assertEqual(self.store.count("/metadata/") - before, len(answers) + 1)

    def test_imds_that_takes_its_time(self):
        give = self.store.give_token

        def slow(handler):
            threading.Event().wait(3)
            give(handler)

        self.store.give_token = slow
        self.staged(**self.imds())
        self.assertEqual(self.store.count("/metadata/"), 1)

    def test_one_token_for_a_job_of_many_nodes(self):
        # Throttled at first: the other nodes still do not ask for themselves.
        self.store.imds = [(429, {})]
        self.staged("--chunk-size", "64KiB", ranks=8, **self.imds())
        self.assertEqual(self.store.count("/metadata/"), 2)

    def test_eight_jobs_on_one_node_share_a_busy_imds(self):
        """It refuses the first eight that ask; all get their tokens, none asks without a pause."""
        asked, lock = [], threading.Lock()

        def metadata(handler):
            with lock:
                asked.append(handler)
                good = len(asked) > 8
            if good:
                return self.store.give_token(handler)
            return handler.reply(429, {"error": "busy"}, {"Server": "IMDS/1"})

        self.store.metadata = metadata
        env = self.imds()

        def one(number):
            case = DeniedTest("test_eight_jobs_on_one_node_share_a_busy_imds")
            case.dir, case.dest, case.env = self.dir, self.dir / f"job{number}", self.env
            return case.engine("az://acct/models/m/", case.dest, **env), case

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for code, case in pool.map(one, range(8)):
                self.assertEqual(code, 0, case.output)
                case.assertStaged({"a.bin": self.files["m/a.bin"], "b.bin": self.files["m/b.bin"]})
        self.assertEqual(len(self.store.tokens), 8)
        self.assertEqual(len(asked), 16)


if __name__ == "__main__":
    unittest.main()
