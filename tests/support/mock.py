"""What the tests' mock services share: a threaded server on loopback that notes its requests, and
runs of stage-engine. Only the standard library."""

import http.server
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import unittest

ENGINE = os.environ.get("STAGE_ENGINE", "stage-engine")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_any(self):
        length = int(self.headers.get("Content-Length") or 0)
        self.body = self.rfile.read(length)
        with self.server.lock:
            self.server.requests.append((self.command, self.path, dict(self.headers), self.body))
        self.server.service.answer(self)

    do_GET = do_HEAD = do_POST = do_PUT = do_CONNECT = do_any

    def reply(self, status, body=b"", headers=()):
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def reply_file(self, data, headers=()):
        """With ranges, as object stores do."""
        headers = dict(headers)
        headers["Accept-Ranges"] = "bytes"
        text = self.headers.get("Range")
        if not text or not data:
            return self.reply(200 if not text else 416, data, headers)
        first, _, last = text.removeprefix("bytes=").partition("-")
        first, last = int(first), min(int(last or len(data) - 1), len(data) - 1)
        headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
        return self.reply(206, data[first : last + 1], headers)


class Service:
    """A service of a test: subclasses have answer(handler)."""

    def __init__(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # clients go away in the middle: that is tested
        self.server.service = self
        self.server.requests = []
        self.server.lock = self.lock = threading.Lock()
        self.origin = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def requests(self):
        with self.lock:
            return list(self.server.requests)

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class EngineTest(unittest.TestCase):
    """Runs stage-engine in an environment that holds nothing of the machine's own identities."""

    deadline = "100s"

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="stage-test-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.dest = self.dir / "dest"
        self.home = self.dir / "home"
        self.home.mkdir()
        self.env = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "no_proxy": "*",
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
            "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", ""),
        }

    def service(self, made):
        self.addCleanup(made.stop)
        return made

    def engine(self, *arguments, ranks=1, only_rank_0=(), **env):
        """With several ranks, each in a node of its own by name; all but the first stage to
        DEST-RANK. Variables in only_rank_0 are unset on the others."""
        command = [ENGINE, "--no-progress", "--no-direct", "--deadline", self.deadline, *map(str, arguments)]
        env = {**self.env, **env}
        if ranks > 1:
            command = self.on_nodes(command, ranks, only_rank_0, env)
        done = subprocess.run(
            command, env=env, capture_output=True, text=True, timeout=110, check=False
        )
        self.output = done.stdout + done.stderr
        return done.returncode

    def on_nodes(self, command, ranks, only_rank_0, env):
        # mpirun's daemons take a host's name for a node's.
        agent = self.dir / "agent"
        agent.write_text("#!/bin/sh\nhost=$1; shift\n"
                         """exec unshare --uts sh -c 'hostname "$0"; exec sh -c "$1"' "$host" "$*"\n""")
        rank = self.dir / "rank"
        rank.write_text('#!/bin/sh\nif [ "$OMPI_COMM_WORLD_RANK" = 0 ]; then exec "$@"; fi\n'
                        f'unset {" ".join(only_rank_0)} x\nexec "$@-$OMPI_COMM_WORLD_RANK"\n')
        agent.chmod(0o755)
        rank.chmod(0o755)
        mca = {"plm_rsh_agent": agent, "plm_rsh_no_tree_spawn": 1, "btl": "tcp,self",
               "btl_tcp_if_include": "lo", "oob_tcp_if_include": "lo"}
        return ["mpirun", *(str(x) for k, v in mca.items() for x in ("--mca", k, v)),
                "-H", ",".join(f"n{i}" for i in range(ranks)), "-n", str(ranks),
                *(x for name in env if not name.startswith("OMPI_") for x in ("-x", name)),
                str(rank), *command]

    def assertStaged(self, files, dest=None):
        dest = dest or self.dest
        found = {}
        for path in dest.rglob("*"):
            name = path.relative_to(dest).as_posix()
            if path.is_file() and not name.startswith(".stage-model"):
                found[name] = path.read_bytes()
        self.assertEqual(sorted(found), sorted(files), self.output)
        for name, data in files.items():
            self.assertEqual(found[name], data, name)

    def assertFails(self, code, *words):
        self.assertIn(self.output.count("\n"), (1, 2), self.output)
        for word in words:
            self.assertIn(word, self.output)
        self.assertEqual(self.code, code, self.output)
        self.assertFalse(self.dest.exists(), self.output)
