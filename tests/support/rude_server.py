#!/usr/bin/env python3
"""A server that misbehaves on request, for tests of the HTTP client and the Azure source.

Prints "port N" once it listens on 127.0.0.1, serves until its stdin closes. With an argument, the
PEM file of a key and certificate, it speaks TLS. Only the standard
library; raw sockets, because real HTTP libraries are too polite.

Plain objects: GET /object/KEY/SIZE/RULE[/RULE...]
  The object has SIZE bytes; byte i is i mod 251. Requests under KEY are counted; a RULE is
  NAME[:ARG...][*COUNT]. Each rule holds for its next COUNT requests (no COUNT: for all the rest),
  then the following one; after the last one requests are answered well.
As a proxy (CONNECT, or a whole URL as the target) it refuses: to refuse-407.example with 407, else
with 502.
GET /log/KEY: one line per request: connection number, Range, If-Match, Authorization (yes/no).

Azure: /acct/CONTAINER..., see the table CONTAINERS. The container "busy-RULE..." applies a rule to
its list, as in "status:503:2*3".
"""

import email.utils
import socket
import ssl
import struct
import sys
import threading
import time
import urllib.parse
from xml.sax.saxutils import escape

PERIOD = bytes(range(251))
PATTERN = PERIOD * 5000  # about 1.2 MB

lock = threading.Lock()
counts = {}  # key -> requests so far
logs = {}  # key -> lines
connections = 0


def pattern(first, length):
    """Bytes first..first+length-1 of any object, in pieces."""
    while length > 0:
        start = first % 251
        piece = PATTERN[start : start + min(length, len(PATTERN) - start)]
        yield piece
        first += len(piece)
        length -= len(piece)


def parse_range(text, size):
    if not text:
        return None
    first, last = text.removeprefix("bytes=").split("-")
    return int(first), min(int(last), size - 1)


def choose_rule(rules, number):
    for rule in rules:
        name, _, count = rule.partition("*")
        if not count or number < int(count):
            return name.split(":")
        number -= int(count)
    return ["ok"]


class Connection:
    def __init__(self, sock, number):
        self.sock = sock
        self.number = number
        self.file = sock.makefile("rb")

    def run(self):
        try:
            while self.one_request():
                pass
        except (OSError, ValueError):
            pass
        finally:
            self.file.close()
            self.sock.close()

    def one_request(self):
        line = self.file.readline().decode("latin-1")
        if not line.strip():
            return False
        method, target, _ = line.split(" ", 2)
        headers = {}
        while (header := self.file.readline().decode("latin-1").strip()):
            name, _, value = header.partition(":")
            headers[name.lower()] = value.strip()
        path, _, query = target.partition("?")
        query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        if not target.startswith("/"):
            return self.proxy(method, target)
        if path.startswith("/log/"):
            with lock:
                body = "\n".join(logs.get(path[5:], [])).encode()
            return self.answer(200, {}, body)
        if path.startswith("/object/"):
            _, _, key, size, *rules = path.split("/")
            return self.object(key, int(size), rules, headers)
        if path.startswith("/acct/"):
            return self.azure(path, query, headers)
        return self.answer(404, {}, b"")

    # The polite parts.

    def head(self, status, headers):
        lines = [f"HTTP/1.1 {status} X"] + [f"{k}: {v}" for k, v in headers.items()]
        self.sock.sendall(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    def answer(self, status, headers, body):
        self.head(status, {**headers, "Content-Length": len(body)})
        self.sock.sendall(body)
        return True

    def send(self, first, length):
        for piece in pattern(first, length):
            self.sock.sendall(piece)

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False

    def hold(self):
        """Says nothing until the client goes away."""
        while self.sock.recv(4096):
            pass
        return False

    # The rude parts.

    def count(self, key, headers):
        with lock:
            number = counts.get(key, 0)
            counts[key] = number + 1
            logs.setdefault(key, []).append(
                f"{self.number} {headers.get('range', '-')} {headers.get('if-match', '-')} "
                f"{'yes' if 'authorization' in headers else 'no'}"
            )
        return number

    def proxy(self, method, target):
        """Refuses: "refuse-407.example" with 407."""
        host = target.removeprefix("http://")
        self.answer(int(host[7:10]) if host.startswith("refuse-") else 502, {}, b"<html>proxy</html>")
        return method != "CONNECT"

    def object(self, key, size, rules, headers):
        rule, *args = choose_rule(rules, self.count(key, headers))
        asked = parse_range(headers.get("range"), size)
        first, last = asked or (0, size - 1)
        length = last - first + 1
        good = {"Content-Range": f"bytes {first}-{last}/{size}", "ETag": '"v1"'}
        whole = {**good, "Content-Length": length}

        if rule == "ok":
            self.head(206, whole)
            self.send(first, length)
            return True
        if rule == "silent":
            return self.hold()
        if rule == "reset":
            return self.reset()
        if rule in ("short-fin", "short-rst"):  # one byte fewer than promised
            self.head(206, whole)
            self.send(first, length - 1)
            return False if rule == "short-fin" else self.reset_after_delivery()
        if rule == "cut":  # ARG bytes, then reset
            self.head(206, whole)
            self.send(first, min(int(args[0]), length))
            return self.reset_after_delivery()
        if rule == "chunk-cut":  # half of it, and a valid end
            self.head(206, {**good, "Transfer-Encoding": "chunked"})
            body = b"".join(pattern(first, length // 2))
            self.sock.sendall(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
            return True
        if rule == "chunked":
            self.head(206, {**good, "Transfer-Encoding": "chunked"})
            for piece in pattern(first, length):
                self.sock.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.sock.sendall(b"0\r\n\r\n")
            return True
        if rule in ("chunked-fin", "chunked-rst", "chunked-hold"):  # every byte, but no valid end
            self.head(206, {**good, "Transfer-Encoding": "chunked"})
            for piece in pattern(first, length):
                self.sock.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
            if rule == "chunked-fin":
                return False
            return self.hold() if rule == "chunked-hold" else self.reset_after_delivery()
        if rule == "zero":
            self.head(206, {**good, "Content-Length": 0})
            return True
        if rule == "long":  # more than the range has
            self.head(206, {**good, "Transfer-Encoding": "chunked"})
            body = b"".join(pattern(first, length)) + b"surplus"
            self.sock.sendall(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
            return True
        if rule == "stop":  # ARG bytes, then nothing
            self.head(206, whole)
            self.send(first, min(int(args[0]), length))
            return self.hold()
        if rule == "trickle":  # a byte every ARG seconds
            self.head(206, whole)
            for piece in pattern(first, length):
                for byte in piece:
                    self.sock.sendall(bytes([byte]))
                    time.sleep(float(args[0]))
            return True
        if rule == "slow":  # ARG bytes per second, steadily
            self.head(206, whole)
            step = max(1, int(int(args[0]) / 20))
            for at in range(0, length, step):
                self.send(first + at, min(step, length - at))
                time.sleep(0.05)
            return True
        if rule == "shifted":
            self.head(206, {**whole, "Content-Range": f"bytes {first + 1}-{last + 1}/{size + 9}"})
            self.send(first + 1, length)
            return True
        if rule == "moved":  # the right total, another place
            self.head(206, {**whole, "Content-Range": f"bytes {first + 1}-{last}/{size}"})
            self.send(first, length)
            return True
        if rule == "grown":
            self.head(206, {**whole, "Content-Range": f"bytes {first}-{last}/{size + 1}"})
            self.send(first, length)
            return True
        if rule == "no-content-range":
            self.head(206, {"Content-Length": length})
            self.send(first, length)
            return True
        if rule == "whole":  # ignores the range
            self.head(200, {"Content-Length": size})
            self.send(0, size)
            return True
        if rule == "other-etag":
            self.head(206, {**whole, "ETag": '"v2"'})
            self.send(first, length)
            return True
        if rule == "gzip":  # stored so; the bytes are what the object is
            self.head(206, {**whole, "Content-Encoding": "gzip"})
            self.send(first, length)
            return True
        if rule == "redirect":
            return self.answer(302, {"Location": urllib.parse.unquote(args[0])}, b"")
        if rule == "status":  # CODE, RETRY-AFTER ("date" or seconds), x-ms-error-code
            return self.status(args)
        return self.answer(404, {}, b"")

    def status(self, args):
        extra = {}
        if len(args) > 1 and args[1]:
            later = email.utils.formatdate(time.time() + 1, usegmt=True)
            extra["Retry-After"] = later if args[1] == "date" else args[1]
        if len(args) > 2:
            extra["x-ms-error-code"] = args[2]
            extra["x-ms-request-id"] = "0000-request"
        return self.answer(int(args[0]), extra, b"")

    def reset_after_delivery(self):
        # A reset throws away what the other side has not read yet.
        self.sock.shutdown(socket.SHUT_RD)
        time.sleep(0.2)
        return self.reset()

    # Azure.

    def azure(self, path, query, headers):
        _, _, container, *name = path.split("/", 3)
        if name:
            size = dict((n, s) for n, s, _ in BLOBS.get(container, []))
            return self.object(container, size[urllib.parse.unquote(name[0])], [], headers)
        if container.startswith("denied-"):
            return self.denied(container.removeprefix("denied-"))
        if container == "skewed":
            date = email.utils.formatdate(time.time() - 1200, usegmt=True)
            code = {"x-ms-error-code": "AuthenticationFailed", "Date": date}
            return self.answer(403, code, b"")
        if container.startswith("busy-"):
            rule, *args = choose_rule([BUSY[container]], self.count(container, headers))
            if rule != "ok":
                return self.status(args)
            container = "plain"
        if container == "not-xml":
            return self.answer(200, {}, b"<html><body>Welcome to the portal</body>")
        if container == "endless":
            return self.answer(200, {}, page([], "same"))
        if container == "markers":
            at = MARKERS.index(query.get("marker", ""))
            blobs = [(f"m/{at}", 10 + at, "")]
            return self.answer(200, {}, page(blobs, MARKERS[at + 1]))
        prefix = query.get("prefix", "")
        blobs = [b for b in BLOBS[container] if b[0].startswith(prefix) or container == "foreign"]
        most = int(query.get("maxresults", "5000"))
        return self.answer(200, {}, page(blobs[:most], ""))

    def denied(self, code):
        status, code = code.split("-", 1)
        code = next(c for c in CODES if c.lower() == code)
        body = f"<?xml version='1.0'?><Error><Code>{code}</Code></Error>".encode()
        return self.answer(int(status), {"x-ms-request-id": "abc-123"}, body)


CODES = [
    "AuthorizationFailure",
    "AuthorizationPermissionMismatch",
    "PublicAccessNotPermitted",
    "KeyBasedAuthenticationNotPermitted",
    "AuthenticationFailed",
    "ContainerNotFound",
]
BUSY = {"busy-twice": "status:503:0*2", "busy-timeout": "status:500::OperationTimedOut*2"}
MARKERS = ["", "1oDM+g/plc==", "a!b&c%41 d", "2%2Bx", ""]
TIB = 1 << 40
BLOBS = {  # name, size, more XML inside <Properties>
    "plain": [("p/a.bin", 1000, ""), ("p/b.bin", 2000, "")],
    "huge": [
        ("h/a", (1 << 31) - 1, ""),
        ("h/b", 1 << 31, ""),
        ("h/c", 1 << 32, ""),
        ("h/d", (1 << 32) + 1, ""),
        ("h/e", 6 * TIB, ""),
    ],
    "archive": [("a/x", 5, ""), ("a/y", 6, "<AccessTier>Archive</AccessTier>")],
    "foreign": [("p/a", 5, ""), ("q/evil", 6, "")],
    "negative": [("n/a", -1, "")],
    "overflow": [("n/a", 1 << 64, "")],
    "gen2": [("g", 0, "<ResourceType>directory</ResourceType>"), ("g/f", 3, "")],
}


def page(blobs, marker):
    xml = "<?xml version='1.0' encoding='utf-8'?><EnumerationResults><Blobs>"
    for name, size, more in blobs:
        xml += (
            f"<Blob><Name>{escape(name)}</Name><Properties><Content-Length>{size}"
            f"</Content-Length><Etag>v1</Etag>{more}</Properties></Blob>"
        )
    xml += f"</Blobs><NextMarker>{escape(marker)}</NextMarker></EnumerationResults>"
    return xml.encode()


def main():
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    tls = None
    if len(sys.argv) > 1:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(sys.argv[1])
    print("port", listener.getsockname()[1], flush=True)

    def accept():
        global connections
        while True:
            sock, _ = listener.accept()
            connections += 1
            if tls:
                try:
                    sock = tls.wrap_socket(sock, server_side=True)
                except (OSError, ssl.SSLError):
                    continue
            connection = Connection(sock, connections)
            threading.Thread(target=connection.run, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
