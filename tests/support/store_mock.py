"""A blob service that counts, limits and misbehaves as a test wishes: azure_mock.Azure with versions
of blobs, pages, checked shared keys, answers cut short. Tests set `before`, which sees each request
first."""

import base64
import email.utils
import hashlib
import hmac
import socket
import struct
import threading
import time
import urllib.parse
from xml.sax.saxutils import escape

from azure_mock import Azure

SAS = "sv=2021-08-06&sp=rl&sig=STOREsig%3D"
KEY = base64.b64encode(b"the key of the store").decode()


class Store(Azure):
    """Objects: {name: bytes}, all in container "models" of account "acct"."""

    def __init__(self, files):
        super().__init__(files)
        self.etags = {}  # name -> version; "v1" if not there
        self.markers = {}  # names that are directories: name -> True
        self.page_size = 5000
        self.marker = "{}"  # how the position of the next page is written
        self.before = lambda handler, name, query: False  # True: has answered; name: None for a list
        self.running = 0
        self.most_running = 0
        self.sent = 0  # bytes of blobs

    # What tests ask.

    def gets(self):
        """Requests for blobs, in order: (name, Range)."""
        return [(urllib.parse.unquote(path.partition("?")[0].removeprefix("/acct/models/")), headers.get("Range"))
                for _, path, headers, _ in self.requests
                if path.startswith("/acct/models/")]

    def lists(self):
        return self.count("comp=list")

    # Answers.

    def blobs(self, handler, path, query):
        name = None
        if query.get("comp") != "list":
            name = urllib.parse.unquote(path.removeprefix("/acct/models/"))
        with self.lock:
            self.running += name is not None
            self.most_running = max(self.most_running, self.running)
        try:
            if self.before(handler, name, query):
                return
            if not self.allowed(handler, path, query):
                self.error(handler, 403, "AuthenticationFailed")
            elif name is None:
                handler.reply(200, self.list(query).encode())
            elif name not in self.files:
                self.error(handler, 404, "BlobNotFound")
            else:
                self.blob(handler, name)
        finally:
            with self.lock:
                self.running -= name is not None

    def blob(self, handler, name):
        with self.lock:
            data, etag = self.files[name], self.etags.get(name, "v1")
        wanted = handler.headers.get("If-Match")
        if wanted and wanted.strip('"') != etag:
            return self.error(handler, 412, "ConditionNotMet")
        with self.lock:
            self.sent += length_of(handler.headers.get("Range"), data)
        return handler.reply_file(data, {"ETag": f'"{etag}"', "x-ms-blob-type": "BlockBlob"})

    def throttle(self, handler, retry_after=None, status=503, code="ServerBusy"):
        """Always true, for `before`."""
        headers = {}
        if retry_after == "date":
            headers["Retry-After"] = email.utils.formatdate(time.time() + 1, usegmt=True)
        elif retry_after is not None:
            headers["Retry-After"] = str(retry_after)
        self.error(handler, status, code, headers)
        return True

    def begin(self, handler, keep):
        """Promises the range asked for and sends its first `keep` bytes; returns the others."""
        data = self.files[urllib.parse.unquote(handler.path.partition("?")[0].removeprefix("/acct/models/"))]
        first, last = map(int, handler.headers["Range"].removeprefix("bytes=").split("-"))
        handler.send_response(206)
        handler.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
        handler.send_header("Content-Length", str(last - first + 1))
        handler.send_header("ETag", '"v1"')
        handler.end_headers()
        handler.wfile.write(data[first : last + 1][:keep])
        handler.wfile.flush()
        handler.close_connection = True
        return data[first : last + 1][keep:]

    def cut(self, handler, keep, reset=False):
        """Hangs up after `keep` bytes of the range. Always true."""
        self.begin(handler, keep)
        if reset:
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return True

    def trickle(self, handler, keep, pause):
        """After `keep` bytes one more each `pause` seconds, until the other side goes. Always true."""
        handler.connection.settimeout(pause)
        for byte in self.begin(handler, keep):
            try:
                if not handler.connection.recv(4096):
                    return True
            except TimeoutError:
                pass
            try:
                handler.wfile.write(bytes([byte]))
            except OSError:
                return True
        return True

    def hold(self, handler, seconds=60):
        """Says nothing, until the other side goes away. Always true."""
        handler.connection.settimeout(seconds)
        try:
            while handler.connection.recv(4096):
                pass
        except OSError:
            pass
        handler.close_connection = True
        return True

    def allowed(self, handler, path, query):
        if "sig" in query:
            return True
        scheme, _, proof = handler.headers.get("Authorization", "").partition(" ")
        if scheme == "Bearer":
            return self.tokens.get(proof, 0) > time.time()
        if scheme == "SharedKey":
            return proof == "acct:" + self.signature(handler, path, query)
        return False

    def signature(self, handler, path, query):
        """Of a GET, by Microsoft's description; the path is signed as it was sent."""
        ms = sorted((k.lower(), v) for k, v in handler.headers.items() if k.lower().startswith("x-ms-"))
        said = handler.headers
        text = "GET" + "\n" * 8 + said.get("If-Match", "") + "\n" * 3 + said.get("Range", "") + "\n"
        text += "".join(f"{k}:{v}\n" for k, v in ms) + "/acct" + path
        text += "".join(f"\n{k.lower()}:{v}" for k, v in sorted(query.items()))
        digest = hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()
        return base64.b64encode(digest).decode()

    def list(self, query):
        with self.lock:
            names = sorted({*self.files, *self.markers}, key=str.encode)
            names = [name for name in names if name.startswith(query.get("prefix", ""))]
            pages = [self.marker.format(at) for at in range(0, len(names), self.page_size)]
            start = pages.index(query["marker"]) * self.page_size if query.get("marker") else 0
            end = start + self.page_size
            xml = "<?xml version='1.0' encoding='utf-8'?><EnumerationResults><Blobs>"
            for name in names[start:end]:
                xml += self.entry(name, self.files.get(name, b""))
        following = escape(self.marker.format(end)) if end < len(names) else ""
        return f"{xml}</Blobs><NextMarker>{following}</NextMarker></EnumerationResults>"

    def entry(self, name, data):
        # A tuple stands for bytes that are not there: (size,).
        size = data[0] if isinstance(data, tuple) else len(data)
        metadata = "<Metadata><hdi_isfolder>true</hdi_isfolder></Metadata>" if name in self.markers else ""
        return (f"<Blob><Name>{escape(name)}</Name><Properties><Content-Length>{size}</Content-Length>"
                f"<Etag>{self.etags.get(name, 'v1')}</Etag></Properties>{metadata}</Blob>")


def length_of(text, data):
    if not text:
        return len(data)
    first, last = map(int, text.removeprefix("bytes=").split("-"))
    return min(last, len(data) - 1) - first + 1


class Sometimes:
    """True for some calls: of each ten, `of_ten`, until `calls` have been counted."""

    def __init__(self, of_ten, calls):
        self.of_ten, self.calls = of_ten, calls
        self.count = self.said = 0
        self.lock = threading.Lock()

    def __call__(self):
        with self.lock:
            self.count += 1
            yes = self.count <= self.calls and self.count % 10 < self.of_ten
            self.said += yes
            return yes
