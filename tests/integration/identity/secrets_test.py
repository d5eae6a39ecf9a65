#!/usr/bin/env python3
"""No secret in anything that is written, whatever fails: each identity through each failure, with a
server that repeats what it was sent; then all output and all files are searched for the secrets'
bytes, plain, percent-encoded and in base64. Case A7."""

import base64
import os
import sys
import unittest
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../support"))
from azure_mock import Azure  # noqa: E402
from hub import Hub  # noqa: E402
from mock import EngineTest  # noqa: E402

FILES = {"m/a.bin": b"a" * 100_000}
KEY = base64.b64encode(b"KEYkeyKEYkeyKEYkey+/KEYkey\xff\xfe").decode()
SIG = "SIGsig+SIG/sigSIGsig="
SECRET = "CLIENTsecret~CLIENT+secret"
JWT = "eyJFEDERATED.assertion.SIGNEDsigned"
HF = "hf_TOKENtokenTOKENtoken"
TOKEN = "eyJTOKENtoken"  # how the mock's begin
TENANT = "11111111-2222-3333-4444-555555555555"


def forms(secret):
    """The secret as it may look after another encoding or two, also as a part of longer base64."""
    raw = secret.encode()
    yield raw
    yield urllib.parse.quote(urllib.parse.quote(secret, safe=""), safe="").encode()
    yield urllib.parse.quote(secret, safe="").encode()
    yield urllib.parse.quote(secret, safe="").lower().encode()
    for shift in range(3):
        coded = base64.b64encode(b"x" * shift + raw)
        yield coded[(shift * 8 + 5) // 6 : len(coded) - 4]


class SecretsTest(EngineTest):
    def setUp(self):
        super().setUp()
        self.azure = self.service(Azure(FILES))
        self.azure.echo = True
        self.hub = self.service(Hub())
        self.hub.add("org/model", {"a.bin": b"a" * 100_000}, private=True)
        self.hub.token = HF
        inputs = self.home / "federated"  # below home, which is not searched
        inputs.write_text(JWT)
        entra = {"AZURE_AUTHORITY_HOST": self.azure.origin, "AZURE_TENANT_ID": TENANT,
                 "AZURE_CLIENT_ID": "client-1"}
        azure = "az://acct/models/m/"
        signed = f"sv=2021-08-06&sp=rl&sig={urllib.parse.quote(SIG, safe='')}"
        self.identities = {
            "key": (azure, {"AZURE_STORAGE_KEY": KEY}),
            "connection string": (azure, {"AZURE_STORAGE_CONNECTION_STRING":
                                          f"AccountName=acct;AccountKey={KEY};BlobEndpoint={self.azure.endpoint}"}),
            "SAS": (azure, {"AZURE_STORAGE_SAS_TOKEN": signed}),
            "SAS in the URL": (f"{azure}?{signed}", {}),
            "secret": (azure, {**entra, "AZURE_CLIENT_SECRET": SECRET}),
            "workload": (azure, {**entra, "AZURE_FEDERATED_TOKEN_FILE": str(inputs)}),
            "imds": (azure, {"AZURE_POD_IDENTITY_AUTHORITY_HOST": self.azure.origin}),
            "hub": ("hf://org/model", {"HF_TOKEN": HF}),
            "signed URL": (f"{self.azure.origin}/acct/models/m/a.bin?signature={urllib.parse.quote(SIG, safe='')}", {}),
        }

    def search(self, why):
        written = {"output": self.output.encode()}
        for path in self.dir.rglob("*"):
            if path.is_file() and self.home not in path.parents:
                written[str(path.relative_to(self.dir))] = path.read_bytes()
        for secret in (KEY, SIG, SECRET, JWT, HF, TOKEN):
            for form in forms(secret):
                for name, data in written.items():
                    self.assertNotIn(form, data, f"{why}: in {name}")
        return written

    def each(self, failure, *arguments, code=None, skip=(), **env):
        for name, (url, variables) in self.identities.items():
            if name in skip:
                continue
            with self.subTest(failure=failure, identity=name):
                given = {"AZURE_STORAGE_BLOB_ENDPOINT": self.azure.endpoint,
                         "HF_ENDPOINT": self.hub.origin, **variables, **env}
                self.prepare()
                self.engine("--max-retries", "0", *arguments, "--json", self.dir / "report",
                            "--trace", self.dir / "trace", url, self.dest, **given)
                self.assertTrue(self.output.strip(), name)
                self.search(f"{failure}, {name}")

    def prepare(self):
        self.azure.entra, self.azure.imds = list(self.entra_answers), list(self.imds_answers)

    entra_answers = imds_answers = ()

    def test_success_and_all_that_it_leaves(self):
        self.each("none", skip=("key", "connection string"))
        written = self.search("none")
        self.assertTrue([name for name in written if ".stage-model/manifest" in name], written.keys())
        self.assertIn("report", written)

    def test_refusals_that_repeat_what_was_sent(self):
        for answer in ((403, "AuthenticationFailed"), (404, "BlobNotFound"), (400, "InvalidUri"),
                       (503, "ServerBusy"), (500, "InternalError"), (302, "Found"), (401, "Unknown")):
            self.azure.deny = answer
            self.each(str(answer), skip=("hub",))

    def test_mistakes_on_the_command_line(self):
        url = f"https://acct.blob.core.windows.net/models/?sp=rl&sig={urllib.parse.quote(SIG, safe='')}"
        for arguments in (("az://acct/models/", self.dest, url), ("--chunk-size", url, "az://acct/models/"),
                          (url, self.dest, "--unknown"), ("--filelist", url, "az://acct/models/", self.dest)):
            self.assertEqual(self.engine(*arguments), 2, self.output)
            self.search(arguments)

    def test_token_services_that_repeat_what_was_sent(self):
        for status, code in ((401, "AADSTS7000215"), (400, SECRET), (500, "x"), (200, "")):
            self.entra_answers = [(status, code)] * 9
            self.imds_answers = [(403, {})]
            self.azure.deny = (403, "AuthorizationFailure")
            self.each(f"token service {status}", skip=("hub", "key", "connection string", "SAS",
                                                       "SAS in the URL", "signed URL"))

    def test_networks_that_fail(self):
        dead = "127.0.0.1:1"
        for endpoint in ("https://no-such-host.invalid", f"https://{dead}/acct",
                         self.azure.endpoint.replace("http:", "https:").replace("localhost", "127.0.0.1")):
            hub = endpoint.replace("/acct", "")
            self.each(endpoint, skip=("connection string", "signed URL"),
                      AZURE_STORAGE_BLOB_ENDPOINT=endpoint, HF_ENDPOINT=hub)
        self.each("proxy", http_proxy=f"http://user:{SECRET}@{dead}", no_proxy="", NO_PROXY="")

    def test_the_hubs_refusals(self):
        self.hub.repos["models/org/model"]["gated"] = "all"
        others = [name for name in self.identities if name != "hub"]
        self.each("gated", skip=others)
        self.hub.token = "another"
        self.each("not accepted", skip=others)

    def test_whoami(self):
        for name, (url, variables) in self.identities.items():
            with self.subTest(identity=name):
                self.engine("--whoami", url, AZURE_STORAGE_BLOB_ENDPOINT=self.azure.endpoint,
                            HF_ENDPOINT=self.hub.origin, **variables)
                self.assertTrue(self.output.strip())
                self.search(f"whoami, {name}")

    def test_the_search_finds_what_it_looks_for(self):
        for form in forms(SIG):
            self.output = "x " + form.decode()
            with self.assertRaises(AssertionError):
                self.search("planted")


if __name__ == "__main__":
    unittest.main()
