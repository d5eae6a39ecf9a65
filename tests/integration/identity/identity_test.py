#!/usr/bin/env python3
"""Who we are to Azure: each way to a token against tests/support/azure_mock.py, its failures, its
renewal, its hand-over to other ranks. Cases A1, A2, A4, A6."""

import os
import random
import sys
import unittest
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../support"))
from azure_mock import Azure  # noqa: E402
from mock import EngineTest, Service  # noqa: E402

FILES = {"m/a.bin": random.Random(2).randbytes(700_001), "m/b": b"b" * 1000}
STAGED = {name.removeprefix("m/"): data for name, data in FILES.items()}
TENANT, CLIENT = "11111111-2222-3333-4444-555555555555", "99999999-8888-7777-6666-555555555555"


class Proxy(Service):
    """Notes what it is asked for, and refuses."""

    status = 407

    def answer(self, handler):
        handler.close_connection = True
        handler.reply(self.status, b"<html>proxy</html>")


class IdentityTest(EngineTest):
    def setUp(self):
        super().setUp()
        self.azure = self.service(Azure(FILES))
        self.env["AZURE_STORAGE_BLOB_ENDPOINT"] = self.azure.endpoint
        self.env["no_proxy"] = "localhost"
        self.imds = {"AZURE_POD_IDENTITY_AUTHORITY_HOST": self.azure.origin}
        self.entra = {"AZURE_AUTHORITY_HOST": self.azure.origin, "AZURE_TENANT_ID": TENANT,
                      "AZURE_CLIENT_ID": CLIENT, "NO_PROXY": "localhost,127.0.0.1",
                      "no_proxy": "localhost,127.0.0.1"}

    def stage(self, *arguments, url="az://acct/models/m/", **more):
        self.code = self.engine("--block-size", "64KiB", *arguments, url, self.dest, **more)
        return self.code

    def staged(self, *arguments, **more):
        self.assertEqual(self.stage(*arguments, **more), 0, self.output)
        self.assertStaged(STAGED)

    def forms(self):
        return [dict(urllib.parse.parse_qsl(body.decode())) for _, path, _, body in self.azure.requests
                if path.endswith("/token") and body]

    def test_managed_identity_asks_imds_once_and_never_by_a_proxy(self):
        self.staged(http_proxy="http://127.0.0.1:1", HTTP_PROXY="http://127.0.0.1:1", **self.imds)
        (path,) = [p for _, p, _, _ in self.azure.requests if p.startswith("/metadata")]
        query = dict(urllib.parse.parse_qsl(path.partition("?")[2]))
        self.assertEqual(query, {"api-version": "2018-02-01", "resource": "https://storage.azure.com/"})

    def test_managed_identity_by_client_id(self):
        self.staged(AZURE_CLIENT_ID=CLIENT, **self.imds)
        self.assertEqual(self.azure.count("client_id=" + CLIENT), 1)

    def test_imds_that_is_busy_is_asked_again(self):
        for answer in ((429, {"Retry-After": "1"}), (429, {}), (410, {}), (404, {}), (500, {})):
            self.azure.imds = [answer]
            self.dest = self.dir / str(answer[0])
            self.staged(**self.imds)

    def test_imds_that_refuses_is_named(self):
        self.azure.imds = [(403, {})] * 16
        self.stage(**self.imds)
        self.assertFails(3, "managed identity", "IMDS refuses a token: HTTP 403")
        self.azure.imds = [(400, {})] * 16
        self.stage(AZURE_CLIENT_ID=CLIENT, **self.imds)
        self.assertFails(3, "IMDS: this machine has no identity with AZURE_CLIENT_ID " + CLIENT)

    def test_without_any_identity_it_says_what_to_do(self):
        self.azure.imds = [(400, {})] * 16
        self.stage(**self.imds)
        self.assertFails(3, "no public access, and no identity was found", "--whoami")
        self.azure.imds = [(404, {"Server": "EC2ws"})] * 16
        self.assertEqual(self.engine("--whoami", "az://acct/models/m/", **self.imds), 0)
        self.assertIn("anonymous\n", self.output)
        self.assertIn("not managed identity: the metadata service", self.output)
        self.assertIn("not shared key: AZURE_STORAGE_KEY is not set", self.output)

    def test_a_public_container_that_refuses_this_machines_token(self):
        """Another tenant's: nobody asked for the identity that every machine in Azure has."""
        self.azure.deny = (401, "InvalidAuthenticationInfo")
        self.stage(**self.imds)
        self.assertFails(3, "the token is not accepted", "AZURE_STORAGE_ANON=true")
        self.azure.deny = None
        self.assertEqual(self.engine("--whoami", "az://acct/models/m/", AZURE_STORAGE_ANON="true",
                                     AZURE_STORAGE_KEY="a2V5a2V5", **self.imds), 0)
        self.assertIn(": anonymous (AZURE_STORAGE_ANON is set)", self.output)

    def test_one_token_serves_all_ranks(self):
        self.staged("--chunk-size", "64KiB", ranks=3, only_rank_0=list(self.imds), **self.imds)
        self.assertEqual(self.azure.count("/metadata/"), 1)
        self.assertStaged(STAGED, self.dir / "dest-2")

    def test_workload_identity_reads_its_file_at_each_exchange(self):
        file = self.dir / "federated"
        file.write_text("first.JWT.SECRET\n")
        self.azure.life = 2
        self.azure.delay = 0.5
        self.azure.on_exchange = lambda: file.write_text("second.JWT.SECRET")
        self.staged("--concurrency", "2", AZURE_FEDERATED_TOKEN_FILE=str(file), **self.entra)
        forms = self.forms()
        self.assertGreater(len(forms), 1)
        self.assertEqual(forms[0]["client_assertion"], "first.JWT.SECRET")
        self.assertEqual(forms[1]["client_assertion"], "second.JWT.SECRET")
        self.assertEqual(forms[0]["scope"], "https://storage.azure.com/.default")
        self.assertEqual(forms[0]["client_id"], CLIENT)

    def test_a_token_that_is_refused_in_the_middle_is_renewed_once(self):
        self.azure.revoke_after = 4
        self.staged("--concurrency", "2", AZURE_CLIENT_SECRET="THEsecret~1", **self.entra)
        self.assertEqual(len(self.forms()), 2)

    def test_service_principal(self):
        self.azure.entra = [(429, ""), (503, "")]
        self.staged(AZURE_CLIENT_SECRET="THEsecret~1&+", **self.entra)
        self.assertEqual(self.forms()[-1]["client_secret"], "THEsecret~1&+")
        self.azure.entra = [(401, "AADSTS7000215")]
        self.dest = self.dir / "second"
        self.stage(AZURE_CLIENT_SECRET="THEsecret~1", **self.entra)
        self.assertFails(3, "AADSTS7000215: the client secret is wrong", "service principal " + CLIENT)
        self.stage(AZURE_CLIENT_SECRET="THEsecret~1")
        self.assertFails(3, "AZURE_CLIENT_SECRET is set, but AZURE_TENANT_ID is not")

    def test_secrets_only_go_to_https(self):
        self.stage(AZURE_CLIENT_SECRET="THEsecret~1", **{**self.entra, "AZURE_AUTHORITY_HOST": "http://login.example"})
        self.assertFails(3, "AZURE_AUTHORITY_HOST is not an https URL")

    def test_the_azure_cli(self):
        tools = self.dir / "tools"
        tools.mkdir()
        az = tools / "az"
        token = "eyJCLItoken.of.az"
        self.azure.tokens[token] = 1e12
        az.write_text(f"""#!/bin/sh
echo "$@" >>{self.dir}/az-arguments
echo '{{"accessToken": "{token}", "expires_on": 4102444800, "expiresOn": "2100-01-01 00:00:00"}}'
""")
        az.chmod(0o755)
        path = f"{tools}:/usr/bin:/bin"
        self.staged(PATH=path, AZCOPY_AUTO_LOGIN_TYPE="AZCLI")
        self.assertIn("account get-access-token --resource https://storage.azure.com/",
                      (self.dir / "az-arguments").read_text())
        az.write_text("#!/bin/sh\necho Please run az login >&2\nexit 1\n")
        self.dest = self.dir / "second"
        self.stage(PATH=path, AZCOPY_AUTO_LOGIN_TYPE="AZCLI")
        self.assertFails(3, "Azure CLI", "run 'az login'")

    def test_a_key_that_the_account_does_not_accept_gives_way_to_a_token_once(self):
        key = {"AZURE_STORAGE_KEY": "a2V5a2V5"}
        self.staged("--chunk-size", "64KiB", ranks=3, only_rank_0=list(self.imds), **key, **self.imds)
        self.assertStaged(STAGED, self.dir / "dest-2")
        self.assertEqual(self.azure.count("/metadata/"), 1)
        by_key = [h for _, _, h, _ in self.azure.requests if h.get("Authorization", "").startswith("SharedKey")]
        self.assertEqual(len(by_key), 1)
        self.assertEqual(self.engine("--whoami", "az://acct/models/m/", **key, **self.imds), 0)
        first, *rest = self.output.splitlines()
        self.assertTrue(first.endswith(": managed identity"), self.output)
        self.assertIn("  not shared key of account acct: the account does not accept keys "
                      "(KeyBasedAuthenticationNotPermitted)", rest)
        self.azure.imds = [(400, {})] * 16  # a busy machine may ask again
        self.dest = self.dir / "third"
        self.stage(**key, **self.imds)
        self.assertFails(3, "account acct does not accept keys", "as shared key of account acct (and no token:",
                         "IMDS says that this machine has no identity")
        # A token that is configured by half is no other identity, but the reason why there is none.
        self.stage(**key, AZURE_TENANT_ID=TENANT, AZURE_CLIENT_SECRET="THEsecret~1")
        self.assertFails(3, "as shared key of account acct (and no token: ", "AZURE_CLIENT_ID")
        self.azure.keys = True
        self.assertEqual(self.engine("--whoami", "az://acct/models/m/", **key, **self.imds), 0)
        self.assertIn(": shared key of account acct\n", self.output)

    def test_a_key_gives_way_to_each_kind_of_token(self):
        file = self.dir / "federated"
        file.write_text("JWT.SECRET")
        connection = f"AccountName=acct;AccountKey=a2V5a2V5;BlobEndpoint={self.azure.endpoint}"
        for number, (more, who) in enumerate((
            ({"AZURE_CLIENT_SECRET": "THEsecret~1", "AZURE_STORAGE_KEY": "a2V5a2V5"}, "service principal "),
            ({"AZURE_FEDERATED_TOKEN_FILE": str(file), "AZURE_STORAGE_CONNECTION_STRING": connection},
             "workload identity "))):
            self.dest = self.dir / str(number)
            self.staged(**self.entra, **more)
            self.assertEqual(self.engine("--whoami", "az://acct/models/m/", **self.entra, **more), 0)
            self.assertIn(": " + who + CLIENT, self.output.splitlines()[0])

    def test_each_cloud_logs_in_at_its_own_host_and_a_proxy_that_refuses_is_named(self):
        proxy = self.service(Proxy())
        port = proxy.server.server_address[1]
        env = {"AZURE_TENANT_ID": TENANT, "AZURE_CLIENT_ID": CLIENT, "AZURE_CLIENT_SECRET": "THEsecret~1",
               "AZURE_STORAGE_BLOB_ENDPOINT": "", "no_proxy": "",
               "https_proxy": f"http://me:proxySECRET@127.0.0.1:{port}"}
        for domain, login in (("core.windows.net", "login.microsoftonline.com"),
                              ("core.chinacloudapi.cn", "login.chinacloudapi.cn"),
                              ("core.usgovcloudapi.net", "login.microsoftonline.us")):
            code = self.engine("--whoami", f"https://acct.blob.{domain}/models/", **env)
            self.assertEqual(code, 3, self.output)
            self.assertIn(f"Entra ID (https://{login}) cannot be reached: the proxy 127.0.0.1:{port} does not "
                          "let us through: it wants another user and password (HTTP 407)", self.output)
            self.assertNotIn("SECRET", self.output)
            self.assertEqual([path for _, path, _, _ in proxy.requests][-1], f"{login}:443")
        self.assertEqual(len(proxy.requests), 3)
        proxy.status = 502
        del env["AZURE_CLIENT_SECRET"]
        code = self.engine("--max-retries", "0", "https://acct.blob.core.windows.net/models/", self.dest,
                           **env, AZURE_STORAGE_SAS_TOKEN="sv=2021-08-06&sp=rl&sig=THEsecret")
        self.assertEqual(code, 5, self.output)
        self.assertIn(f"the proxy 127.0.0.1:{port} does not let us through: it answers HTTP 502", self.output)
        self.assertNotIn("SECRET", self.output)

    def test_imds_is_never_asked_by_a_proxy_that_answers_for_it(self):
        proxy = self.service(Proxy())
        proxy.status = 502
        self.staged(http_proxy=proxy.origin, https_proxy=proxy.origin, all_proxy=proxy.origin, **self.imds)
        self.assertEqual(proxy.requests, [])

    def test_the_order(self):
        self.azure.keys = True
        both = {**self.entra, **self.imds, "AZURE_CLIENT_SECRET": "THEsecret~1"}
        for more, word in (({}, "service principal " + CLIENT),
                           ({"AZCOPY_AUTO_LOGIN_TYPE": "msi"}, "managed identity " + CLIENT),
                           ({"AZURE_STORAGE_AUTH_MODE": "login", "AZURE_STORAGE_KEY": "a2V5a2V5"},
                            "service principal " + CLIENT),
                           ({"AZCOPY_AUTO_LOGIN_TYPE": "MSI"}, "managed identity " + CLIENT),
                           ({"AZURE_STORAGE_KEY": "a2V5a2V5"}, "shared key of account acct"),
                           ({"AZURE_STORAGE_SAS_TOKEN": "sig=x&sp=rl"}, "SAS")):
            self.assertEqual(self.engine("--whoami", "az://acct/models/m/", **both, **more), 0, self.output)
            self.assertIn(word, self.output.split("\n")[0])

    def test_a_certificate_is_refused_not_passed_over(self):
        for more in ({"AZURE_CLIENT_CERTIFICATE_PATH": "/x.pem"},
                     {"AZCOPY_SPA_CERT_PATH": "/x.pem", "AZCOPY_AUTO_LOGIN_TYPE": "SPN"}):
            self.stage(**self.entra, **self.imds, **more)
            self.assertFails(3, "AZURE_CLIENT_CERTIFICATE_PATH: a service principal's certificate is not supported")

    def test_whoami_of_what_does_not_work(self):
        self.azure.entra = [(400, "AADSTS90002")]
        code = self.engine("--whoami", "az://acct/models/m/", AZURE_CLIENT_SECRET="THEsecret~1", **self.entra)
        self.assertEqual(code, 3, self.output)
        self.assertIn("AADSTS90002: there is no such tenant", self.output)

    def test_a_signature_for_one_blob_stages_it(self):
        sas = "sv=2021-08-06&sr=b&sp=r&sig=ONEblobSIG%3D"
        self.assertEqual(self.stage(url="az://acct/models/m/b", AZURE_STORAGE_SAS_TOKEN=sas), 0, self.output)
        self.assertStaged({"b": FILES["m/b"]})
        self.assertEqual(self.azure.count("comp=list"), 0)
        self.dest = self.dir / "second"
        self.stage(AZURE_STORAGE_SAS_TOKEN=sas)
        self.assertFails(3, "for a single blob (sr=b): name that blob")


if __name__ == "__main__":
    unittest.main()
