"""Azure's givers of tokens, by their documented protocols, and a blob service that wants them:
IMDS, Entra ID and /acct/CONTAINER. Misbehaves on request."""

import base64
import hashlib
import time
import urllib.parse
from xml.sax.saxutils import escape

from mock import Service


class Azure(Service):
    def __init__(self, files):
        super().__init__()
        self.files = files
        self.tokens = {}  # token -> when it ends
        self.life = 3600
        self.imds = []  # answers before the good ones: (status, headers)
        self.entra = []  # the same: (status, error code)
        self.on_exchange = lambda: None
        self.revoke_after = None  # GETs of blobs, once
        self.keys = False  # whether the account accepts any
        self.delay = 0  # seconds of each GET of a blob
        self.deny = None  # (status, code) for all of the blob service
        self.echo = False  # repeat what was sent in every error
        self.endpoint = f"http://localhost:{self.server.server_address[1]}/acct"

    def count(self, part):
        return sum(part in path for _, path, _, _ in self.requests)

    def give_token(self, handler):
        with self.lock:
            token = f"eyJTOKENtoken+/={len(self.tokens)}.secret_part"
            self.tokens[token] = time.time() + self.life
        handler.reply(200, {"access_token": token, "expires_in": str(self.life),
                            "expires_on": str(int(time.time() + self.life)), "token_type": "Bearer"})

    def error(self, handler, status, code, headers=()):
        said = ""
        if self.echo:
            said = f" you sent {handler.path} {handler.body.decode()} {handler.headers.get('Authorization')}"
        headers = {"x-ms-error-code": code, "x-ms-request-id": "id-1", **dict(headers)}
        if status in (301, 302):
            headers["Location"] = f"http://elsewhere.invalid/x?{handler.path.partition('?')[2]}&token={handler.headers.get('Authorization', '')[7:]}"
            headers["Location"] += "&back=" + urllib.parse.quote(handler.path, safe="")  # as logins do
        body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{escape(said)}</Message></Error>"
        handler.reply(status, body.encode(), headers)

    def answer(self, handler):
        path, _, query = handler.path.partition("?")
        query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        if path == "/metadata/identity/oauth2/token":
            return self.metadata(handler)
        if path.endswith("/oauth2/v2.0/token"):
            return self.login(handler)
        return self.blobs(handler, path, query)

    def metadata(self, handler):
        with self.lock:
            status, headers = self.imds.pop(0) if self.imds else (200, {})
        if handler.headers.get("Metadata") != "true":
            status = 400
        if status != 200:
            return handler.reply(status, {"error": "invalid_request", "error_description": "no"},
                                 {"Server": "IMDS/150.870.65.1854", **headers})
        return self.give_token(handler)

    def login(self, handler):
        self.on_exchange()
        with self.lock:
            status, code = self.entra.pop(0) if self.entra else (200, "")
        if status != 200:
            said = handler.body.decode() if self.echo else ""
            return handler.reply(status, {"error": "invalid_client",
                                          "error_description": f"{code}: no. {said}"})
        return self.give_token(handler)

    def blobs(self, handler, path, query):
        if self.deny:
            return self.error(handler, *self.deny)
        text = handler.headers.get("Authorization", "")
        with self.lock:
            known = self.tokens.get(text.removeprefix("Bearer "), 0) > time.time()
        if "sig" in query:
            known = True
        if not text and "sig" not in query:
            return self.error(handler, 409, "PublicAccessNotPermitted")
        if text.startswith("SharedKey"):
            known = self.keys
        if text.startswith("SharedKey") and not known:
            return self.error(handler, 403, "KeyBasedAuthenticationNotPermitted")
        if not known:
            return self.error(handler, 401, "InvalidAuthenticationInfo")
        if query.get("comp") == "list":
            if query.get("sr") == "b":
                return self.error(handler, 403, "AuthorizationFailure")
            return handler.reply(200, self.page(query.get("prefix", "")).encode())
        name = urllib.parse.unquote(path.removeprefix("/acct/models/"))
        if name not in self.files:
            return self.error(handler, 404, "BlobNotFound")
        if handler.command == "GET":
            time.sleep(self.delay)
            with self.lock:
                if self.revoke_after is not None:
                    self.revoke_after -= 1
                    if self.revoke_after < 0:
                        self.revoke_after = None
                        self.tokens.clear()
        return handler.reply_file(self.files[name], {"ETag": '"v1"', "x-ms-blob-type": "BlockBlob"})

    def page(self, prefix):
        xml = "<?xml version='1.0' encoding='utf-8'?><EnumerationResults><Blobs>"
        for name, data in sorted(self.files.items()):
            if name.startswith(prefix):
                md5 = base64.b64encode(hashlib.md5(data).digest()).decode()
                xml += (f"<Blob><Name>{escape(name)}</Name><Properties><Content-Length>{len(data)}"
                        f"</Content-Length><Etag>v1</Etag><Content-MD5>{md5}</Content-MD5></Properties></Blob>")
        return xml + "</Blobs><NextMarker/></EnumerationResults>"
