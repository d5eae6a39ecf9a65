#!/usr/bin/env python3
"""https:// against real servers: nginx (ranges, TLS, redirects) and Python's http.server, which
knows no ranges. Cases N1, N4, N5, H6 and what cannot be staged from a web server."""

import functools
import hashlib
import http.server
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../support"))
from mock import EngineTest, Service  # noqa: E402

DATA = random.Random(3).randbytes(500_009)
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin")
CONFIG = """
daemon off; worker_processes 1; pid {dir}/pid; error_log {dir}/error.log;
events {{ worker_connections 64; }}
http {{
  access_log {dir}/access.log; etag on; root {dir}/www;
  client_body_temp_path {dir}/t1; proxy_temp_path {dir}/t2; fastcgi_temp_path {dir}/t3;
  uwsgi_temp_path {dir}/t4; scgi_temp_path {dir}/t5;
  server {{
    listen 127.0.0.1:{tls} ssl http2; ssl_certificate {dir}/cert; ssl_certificate_key {dir}/key;
    location /moved/ {{ rewrite ^/moved/(.*)$ /dir/$1 redirect; }}
    location /down/ {{ return 302 http://127.0.0.1:{plain}/one.bin; }}
    location /loop/ {{ return 302 /loop/again; }}
    location /near/ {{ absolute_redirect off; return 307 ../dir/sub/x; }}
  }}
  server {{ listen 127.0.0.1:{plain}; }}
}}
"""


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Replaced(Service):
    """A file that changes, and one whose links lead to another host and back."""

    other = None
    lines = ""

    def answer(self, handler):
        if handler.path.endswith(".manifest"):
            return handler.reply(200, self.lines.encode())
        if handler.path == "/changing":
            gets = len([p for _, p, _, _ in self.requests if p == "/changing"])
            return handler.reply_file(DATA, {"ETag": '"v1"' if gets < 4 else '"v2"'})
        if handler.path == "/there":
            return handler.reply(302, b"", {"Location": self.other.origin + "/back"})
        if handler.path == "/back":
            return handler.reply(307, b"", {"Location": self.other.origin + "/changing?x"})
        return handler.reply_file(DATA, {"ETag": 'W/"weak"'})


class HttpsTest(EngineTest):
    @classmethod
    def setUpClass(cls):
        import tempfile
        cls.web = pathlib.Path(tempfile.mkdtemp(prefix="stage-nginx-"))
        cls.addClassCleanup(shutil.rmtree, cls.web, ignore_errors=True)
        www = cls.web / "www"
        (www / "dir/sub").mkdir(parents=True)
        (www / "one.bin").write_bytes(DATA)
        (www / "empty").write_bytes(b"")
        (www / "dir/a b%20c#d+e.bin").write_bytes(b"strange" * 9)
        (www / "dir/a b%20c").write_bytes(b"another" * 9)
        (www / "dir/sub/x").write_bytes(DATA)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout",
                        cls.web / "key", "-out", cls.web / "cert", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                       check=True, capture_output=True)
        cls.tls, cls.plain = free_port(), free_port()
        (cls.web / "conf").write_text(CONFIG.format(dir=cls.web, tls=cls.tls, plain=cls.plain))
        os.chmod(cls.web, 0o755)
        cls.nginx = subprocess.Popen([NGINX, "-c", cls.web / "conf", "-e", cls.web / "error.log"])
        cls.addClassCleanup(cls.nginx.wait)
        cls.addClassCleanup(cls.nginx.terminate)
        for _ in range(200):
            with socket.socket() as sock:
                if sock.connect_ex(("127.0.0.1", cls.tls)) == 0:
                    break
            time.sleep(0.05)

    def setUp(self):
        super().setUp()
        self.env["SSL_CERT_FILE"] = str(self.web / "cert")
        self.base = f"https://localhost:{self.tls}"

    def stage(self, url, *arguments, **more):
        self.code = self.engine("--block-size", "64KiB", *arguments, url, self.dest, **more)
        return self.code

    def staged(self, url, files, *arguments, **more):
        self.assertEqual(self.stage(url, *arguments, **more), 0, self.output)
        self.assertStaged(files)

    def manifest(self, *lines, name="list.manifest"):
        (self.web / "www" / name).write_text("\n".join(lines) + "\n")
        return f"{self.base}/{name}"

    def test_one_file_by_ranges(self):
        self.staged(f"{self.base}/one.bin", {"one.bin": DATA})
        log = (self.web / "access.log").read_text()
        self.assertIn('" 206 65536 ', log)

    def test_http_2_is_not_spoken_where_it_is_offered(self):
        """Its END_STREAM hides bodies that end early."""
        self.staged(f"{self.base}/one.bin", {"one.bin": DATA})
        log = (self.web / "access.log").read_text()
        self.assertIn("HTTP/1.1", log)
        self.assertNotIn("HTTP/2", log)

    def test_dots_in_a_path_are_sent_as_they_are(self):
        class Verbatim(Service):
            def answer(self, handler):
                path = handler.path
                handler.reply_file(f"the bytes at {path}".encode() * 10_000, {"ETag": '"v1"'})

        service = self.service(Verbatim())
        for path in ("/foo/../key.txt", "/key.txt", "/a/./b/key.txt", "/foo/%2e%2e/key.txt", "/x//..//key.txt"):
            with self.subTest(path=path):
                self.dest = self.dir / path.replace("/", "_")
                self.staged(service.origin + path, {"key.txt": f"the bytes at {path}".encode() * 10_000})
                self.assertIn(path, [p for _, p, _, _ in service.requests])
        self.dest = self.dir / "last"
        for path in ("/foo/..", "/foo/%2e%2e", "/foo/."):
            self.stage(service.origin + path)
            self.assertNotEqual(self.code, 0, self.output)
            self.assertFalse(self.dest.exists())

    def test_names_are_decoded_once(self):
        self.staged(f"{self.base}/dir/a%20b%2520c%23d+e.bin", {"a b%20c#d+e.bin": b"strange" * 9})

    def test_a_hash_is_a_byte_of_the_name(self):
        """Not where a fragment begins: then the file of the shorter name came under the longer one."""
        name = "a b%20c#d+e.bin"
        self.staged(f"{self.base}/dir/a%20b%2520c#d+e.bin", {name: b"strange" * 9})
        for line in ("dir/a%20b%2520c#d+e.bin\t63", f"{self.base}/dir/a%20b%2520c#d+e.bin\t63"):
            self.dest = self.dir / f"by-{len(line)}"
            self.staged(self.manifest(line), {name: b"strange" * 9})

    def test_an_empty_file(self):
        self.staged(f"{self.base}/empty", {"empty": b""})

    def test_redirects(self):
        self.staged(f"{self.base}/moved/sub/x", {"x": DATA})
        self.dest = self.dir / "near"
        self.staged(f"{self.base}/near/x", {"x": DATA})
        self.dest = self.dir / "none"
        self.stage(f"{self.base}/down/x")
        self.assertFails(3, "redirects from https to plain http")
        self.stage(f"{self.base}/loop/x")
        self.assertFails(3, "redirects in a loop")

    def test_a_manifest(self):
        sha = hashlib.sha256(DATA).hexdigest()
        url = self.manifest("# a set", f"dir/sub/x\t{len(DATA)}\t{sha}", "",
                            f"{self.base}/dir/a%20b%2520c%23d+e.bin\t63")
        self.staged(url, {"sub/x": DATA, "a b%20c#d+e.bin": b"strange" * 9}, "--verify", "store")
        other = self.manifest(f"one.bin\t{len(DATA)}", name="any.txt")
        self.dest = self.dir / "other"
        self.staged("manifest+" + other, {"one.bin": DATA})

    def test_a_manifest_of_another_editor(self):
        url = self.manifest("\ufeff# a set\r", "", f"one.bin\t{len(DATA)}\r")
        self.staged(url, {"one.bin": DATA})
        self.dest = self.dir / "second"
        self.staged(self.manifest(f"\ufeffone.bin\t{len(DATA)}\r"), {"one.bin": DATA})

    def test_a_colon_in_a_name_of_a_manifest(self):
        (self.web / "www/dir/model:v2.bin").write_bytes(b"colon")
        self.staged(self.manifest("model:v2.bin\t5", name="dir/list.manifest"), {"model:v2.bin": b"colon"})
        self.dest = self.dir / "second"
        self.staged(self.manifest("dir/model:v2.bin\t5"), {"model:v2.bin": b"colon"})
        self.dest = self.dir / "none"
        self.stage(self.manifest("ftp://h/x\t5"))
        self.assertFails(3, "line 1 of the manifest: the URL is not usable")

    def test_a_manifest_that_lies(self):
        self.stage(self.manifest(f"one.bin\t{len(DATA)}\t{'0' * 64}"), "--verify", "store")
        self.assertEqual(self.code, 7, self.output)
        self.stage(self.manifest(f"one.bin\t{len(DATA) + 1}"))
        self.assertFails(3, "the manifest says 500010 bytes, the server has 500009")
        self.stage(self.manifest("one.bin"))
        self.assertFails(3, "line 1 of the manifest: no size")
        self.stage(self.manifest("one.bin\t5", "./one.bin\t6"))
        self.assertFails(3, "lines 1 and 2 of the manifest name the same file")
        service = self.service(Replaced())
        service.lines = f"dir/%2e%2e/%2e%2e/evil\t{len(DATA)}\ndir/x\t{len(DATA)}"
        self.stage(service.origin + "/a.manifest")
        self.assertFails(3, '".." component')
        self.stage(self.manifest("http://localhost/x\t5"))
        self.assertFails(3, "line 1 of the manifest: the URL is not usable")

    def test_a_server_without_ranges(self):
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(self.web / "www"))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        handler.func.log_message = lambda *_: None
        server.handle_error = lambda *_: None
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/one.bin"
        self.staged(url, {"one.bin": DATA}, "--chunk-size", "1MiB")
        self.dest = self.dir / "by-manifest"
        self.manifest(f"one.bin\t{len(DATA)}")
        self.staged(url.replace("one.bin", "list.manifest"), {"one.bin": DATA}, "--chunk-size", "1MiB")
        self.dest = self.dir / "none"
        self.stage(url, "--chunk-size", "64KiB")
        self.assertFails(5, "does not answer with ranges", "raise --chunk-size")

    def test_a_file_that_changes(self):
        service = self.service(Replaced())
        self.stage(service.origin + "/changing")
        self.assertFails(5, "it changed during the download")

    def test_a_file_of_a_manifest_that_changes(self):
        """With a sha256 too, which by default is not looked at in files of several chunks."""
        for more in ("", "\t" + hashlib.sha256(DATA).hexdigest()):
            service = self.service(Replaced())
            service.lines = f"changing\t{len(DATA)}{more}"
            self.stage(service.origin + "/a.manifest", "--chunk-size", "64KiB")
            self.assertIn("it changed during the download", self.output)
            self.assertEqual(self.code, 5, self.output)
            self.assertFalse(self.dest.exists())

    def test_a_manifest_on_two_nodes(self):
        """What rank 0 has read of it goes to the other: queries, and which version to hold to."""
        service = self.service(Replaced())
        service.lines = f"x?sig=1\t{len(DATA)}\t{hashlib.sha256(DATA).hexdigest()}"
        self.staged(service.origin + "/a.manifest", {"x": DATA}, "--chunk-size", "64KiB", ranks=2)
        self.assertStaged({"x": DATA}, self.dir / "dest-1")
        self.assertEqual({p for _, p, _, _ in service.requests}, {"/a.manifest", "/x?sig=1"})

    def test_what_a_manifest_names_is_looked_at_first(self):
        self.stage(self.manifest(f"one.bin\t{len(DATA)}", "none\t7"))
        self.assertFails(3, "object 'none' cannot be staged", "/none: not found: check the URL (HTTP 404")
        self.staged(self.manifest(f"one.bin\t{len(DATA)}", "none\t7"), {"one.bin": DATA}, "--exclude", "none")
        self.dest = self.dir / "second"
        self.staged(self.manifest(f"one.bin\t{len(DATA)}", "empty\t0"), {"one.bin": DATA, "empty": b""})
        self.staged(self.manifest(f"one.bin\t{len(DATA)}", "empty\t0"), {"one.bin": DATA, "empty": b""})
        self.assertIn("[download] 0 bytes", self.output)

    def test_a_server_in_trouble_is_not_asked_for_every_file(self):
        class Down(Service):
            def answer(self, handler):
                if handler.path.endswith(".manifest"):
                    return handler.reply(200, "".join(f"{i}\t9\n" for i in range(200)).encode())
                return handler.reply(500)

        service = self.service(Down())
        self.stage(service.origin + "/a.manifest", "--max-retries", "0")
        self.assertFails(5, "answers HTTP 500")
        self.assertLess(len(service.requests), 70)  # what was under way, by GET and HEAD

    def test_there_and_back(self):
        service, other = self.service(Replaced()), self.service(Replaced())
        service.other, other.other = other, service
        self.staged(service.origin + "/there", {"there": DATA})

    def test_a_web_page_in_place_of_the_file(self):
        """A login, a page about the file: HTTP 200, and nobody's model."""
        class Portal(Service):
            def answer(self, handler):
                if handler.path.startswith("/model"):
                    return handler.reply(302, b"", {"Location": "/login?to=there"})
                page = b"<html>who are you?</html>"
                return handler.reply(200, page, {"Content-Type": "text/html; charset=utf-8"})

        service = self.service(Portal())
        self.stage(service.origin + "/model.bin")
        self.assertFails(3, "answers with a web page (text/html)", "does it want a login")
        self.staged(service.origin + "/about.html", {"about.html": b"<html>who are you?</html>"})

    def test_a_proxy_that_wants_tls_itself(self):
        """Its certificate is held against the same bundle; nginx, which is no proxy, says so."""
        self.stage("https://files.example/x", no_proxy="", https_proxy=f"https://localhost:{self.tls}")
        self.assertFails(5, f"the proxy localhost:{self.tls} does not let us through: it answers HTTP 4")

    def test_whoami(self):
        url = f"{self.base}/one.bin"
        self.assertEqual(self.engine("--whoami", url + "?token=SECRET"), 0, self.output)
        self.assertEqual(self.output, f"{url}: signature in the URL\n")

    def test_urls_of_other_sources(self):
        class Hub(Service):  # as a proxy, so that its name is that of the hub
            def answer(self, handler):
                handler.reply(401)

        proxy = {"no_proxy": "", "http_proxy": self.service(Hub()).origin, "STAGE_ALLOW_HTTP": "1"}
        self.stage("http://huggingface.co/org/name/resolve/main/x.bin", **proxy)
        self.assertFails(3, "not allowed without a login", "hf://ORG/NAME", "HTTP 401")
        for url, scheme in (("https://b.s3.eu-west-1.amazonaws.com/p/", "s3://"),
                            ("https://storage.googleapis.com/b/p/", "gs://")):
            self.stage(url)
            self.assertFails(2, "directories cannot be listed", scheme)

    def test_mistakes(self):
        for url, code, word in ((f"{self.base}/none", 3, "not found: check the URL (HTTP 404"),
                                (f"{self.base}/dir/", 2, "directories cannot be listed"),
                                (f"{self.base}/dir/a b", 2, "write %20 for a space"),
                                ("http://files.example/x", 2, "STAGE_ALLOW_HTTP=1")):
            self.stage(url)
            self.assertFails(code, word)
        self.stage(f"{self.base}/one.bin", SSL_CERT_FILE="/etc/ssl/certs/ca-certificates.crt")
        self.assertFails(5, "SSL_CERT_FILE")


if __name__ == "__main__":
    unittest.main()
