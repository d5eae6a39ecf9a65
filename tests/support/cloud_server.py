#!/usr/bin/env python3
"""What AWS and Google Cloud do and no server from a registry does here, for tests: instance
metadata, token services, Cloud Storage's JSON API, and S3's odd answers. Standard library only.

Prints "port N" once it listens on 127.0.0.1, serves until its stdin closes. Argument: seconds that
each temporary key or token holds (default 3600). Keys and tokens are numbered: only the newest one
is accepted, and of S3's kinds only "expiring" looks.

S3 at /s3-KIND/BUCKET, KIND: see the function of that name. Cloud Storage at /gcs-KIND/storage/v1,
KIND: "public", "private" (any current token), "dropping" (a token is refused after 3 GETs).
/log: one line per request: method, target, proof (scheme or "-"), Metadata-Flavor.
"""

import base64
import gzip
import json
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape

LIFE = float(sys.argv[1]) if len(sys.argv) > 1 else 3600
lock = threading.Lock()
log = []
counts = {}
tokens = 0
gets_with_token = 0


def count(key):
    with lock:
        counts[key] = counts.get(key, 0) + 1
        return counts[key]


def new_token():
    global tokens, gets_with_token
    with lock:
        tokens += 1
        gets_with_token = 0
        return f"token-{tokens}"


def expiry():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + LIFE))


def pattern(first, last):
    return bytes(i % 251 for i in range(first, last + 1))


def page(keys, token="", encoded=True, more=""):
    xml = "<ListBucketResult>" + ("<EncodingType>url</EncodingType>" if encoded else "")
    for key, size in keys:
        name = urllib.parse.quote_plus(key, safe="/") if encoded else key
        xml += f"<Contents><Key>{escape(name)}</Key><Size>{size}</Size><ETag>v1</ETag>{more}</Contents>"
    if token:
        xml += "<IsTruncated>true</IsTruncated>"
        xml += f"<NextContinuationToken>{escape(token)}</NextContinuationToken>"
    return xml + "</ListBucketResult>"


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return base64.b64encode((crc ^ 0xFFFFFFFF).to_bytes(4, "big")).decode()


TOKENS = ["", "1oDM+g/plc==", "a!b&c%41 d", "2%2Bx", ""]
HUGE = [(1 << 31) - 1, 1 << 31, 1 << 32, (1 << 32) + 1, 6 << 40]
PACKED = gzip.compress(b"weights" * 1000, mtime=0)
GCS = {  # name -> bytes; generation 7 each
    "m/a b+c%20d#e?.bin": b"one",
    "m/läma/모델.safetensors": b"two",
    "m/dir/": b"",
    "m/packed.json": PACKED,
    'm/quote".bin': b"three",
    "m/big": pattern(0, 299999),
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", headers=None):
        body = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def fault(self, status, code, headers=None, more=""):
        self.answer(status, f"<Error><Code>{code}</Code>{more}</Error>", headers)

    def do(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        proof = self.headers.get("Authorization", "-").split(" ")[0]
        flavor = self.headers.get("Metadata-Flavor", "-")
        with lock:
            log.append(f"{self.command} {self.path} {proof} {flavor}")
        path, _, query = self.path.partition("?")
        query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        first, _, rest = path[1:].partition("/")
        if first == "log":
            return self.answer(200, "\n".join(log))
        if first == "sts":
            return self.sts(dict(urllib.parse.parse_qsl(body)))
        if first.startswith("imds-"):
            return self.imds(first[5:], "/" + rest)
        if first == "container":
            return self.container()
        if first == "computeMetadata":
            return self.metadata(rest)
        if first == "token":
            return self.google_token(dict(urllib.parse.parse_qsl(body)))
        if first.startswith("s3-"):
            return getattr(self, "s3_" + first[3:])(rest, query)
        if first.startswith("gcs-"):
            return self.gcs(first[4:], rest, query)
        return self.answer(404)

    do_GET = do_PUT = do_POST = do_HEAD = do

    # Who gives out keys.

    def keys(self):
        return {
            "Code": "Success",
            "AccessKeyId": "ASIA",
            "SecretAccessKey": "s3cr3t",
            "Token": new_token(),
            "Expiration": expiry(),
        }

    def sts(self, form):
        good = form.get("WebIdentityToken") == "web-token" and form["RoleArn"] == "arn:role"
        if not good or form["Action"] != "AssumeRoleWithWebIdentity":
            return self.answer(
                403, "<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>"
            )
        keys = self.keys()
        fields = "".join(
            f"<{x}>{keys[y]}</{x}>"
            for x, y in [
                ("AccessKeyId", "AccessKeyId"),
                ("SecretAccessKey", "SecretAccessKey"),
                ("SessionToken", "Token"),
                ("Expiration", "Expiration"),
            ]
        )
        name = "AssumeRoleWithWebIdentityRes"
        return self.answer(
            200,
            f'<{name}ponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><{name}ult>'
            f"<Credentials>{fields}</Credentials></{name}ult></{name}ponse>",
        )

    def imds(self, kind, path):
        if kind == "elsewhere":
            return self.answer(400, "Bad request")
        if kind == "down" or (kind == "busy" and count("imds") <= 2):
            return self.answer(503 if kind == "down" else 429)
        if self.command == "PUT":
            life = self.headers.get("X-aws-ec2-metadata-token-ttl-seconds")
            return self.answer(200 if life else 400, "imds-session")
        if self.headers.get("X-aws-ec2-metadata-token") != "imds-session":
            return self.answer(401)
        if kind == "norole":
            return self.answer(404)
        if path.endswith("/security-credentials/"):
            return self.answer(200, "role")
        return self.answer(200, json.dumps(self.keys()))

    def container(self):
        if self.headers.get("Authorization") != "container-token":
            return self.answer(401)
        return self.answer(200, json.dumps(self.keys()))

    def metadata(self, path):
        if self.headers.get("Metadata-Flavor") != "Google":
            return self.answer(403)
        token = {"access_token": new_token(), "expires_in": max(1, int(LIFE))}
        return self.answer(200, json.dumps(token), {"Metadata-Flavor": "Google"})

    def google_token(self, form):
        assertion = form.get("assertion", "").split(".")
        if form.get("grant_type", "").endswith("jwt-bearer") and len(assertion) == 3:
            claims = json.loads(base64.urlsafe_b64decode(assertion[1] + "=="))
            if claims["iss"] == "me@project.example" and claims["exp"] > time.time():
                token = {"access_token": new_token(), "expires_in": max(1, int(LIFE))}
                return self.answer(200, json.dumps(token))
        return self.answer(400, '{"error": "invalid_grant"}')

    # S3.

    def region(self):
        scope = self.headers.get("Authorization", "//us-east-1").split("/")
        return scope[2]

    def objects(self, rest, query, keys, etag='"v1"'):
        """Lists `keys`, or answers a range of an object of the pattern."""
        if "/" not in rest:
            return self.answer(200, page([k for k in keys if k[0].startswith(query.get("prefix", ""))]))
        if self.command == "HEAD":
            return self.answer(200)
        size = dict(keys)[urllib.parse.unquote(rest.partition("/")[2])]
        first, last = map(int, self.headers["Range"][6:].split("-"))
        return self.answer(
            206, pattern(first, last), {"Content-Range": f"bytes {first}-{last}/{size}", "ETag": etag}
        )

    def s3_redirect(self, rest, query):
        if self.region() != "eu-west-1":
            return self.fault(301, "PermanentRedirect", {"x-amz-bucket-region": "eu-west-1"})
        return self.objects(rest, query, [("m/a", 100)])

    def s3_malformed(self, rest, query):
        if self.region() != "eu-west-1":
            return self.fault(400, "AuthorizationHeaderMalformed", more="<Region>eu-west-1</Region>")
        return self.objects(rest, query, [("m/a", 100)])

    def s3_circle(self, rest, query):
        there = "ap-south-1" if self.region() != "ap-south-1" else "sa-east-1"
        return self.fault(301, "PermanentRedirect", {"x-amz-bucket-region": there})

    def s3_evil(self, rest, query):
        return self.fault(301, "PermanentRedirect", {"x-amz-bucket-region": "evil.example/"})

    def s3_raw(self, rest, query):
        return self.answer(200, page([("m/a+b%20c", 1), ("m/100%25", 2)], encoded=False))

    def s3_tokens(self, rest, query):
        at = TOKENS.index(query.get("continuation-token", ""))
        return self.answer(200, page([(f"m/{at}", 10 + at)], TOKENS[at + 1]))

    def s3_endless(self, rest, query):
        return self.answer(200, page([], "same"))

    def s3_foreign(self, rest, query):
        return self.answer(200, page([("m/a", 1), ("q/evil", 1)]))

    def s3_headless(self, rest, query):
        if self.command == "HEAD":
            return self.answer(500)
        md5 = "0123456789abcdef" * 2
        return self.answer(200, page([(f"m/{i:03}", 100) for i in range(200)]).replace("v1<", md5 + "<"))

    def s3_huge(self, rest, query):
        return self.objects(rest, query, [(f"m/{i}", size) for i, size in enumerate(HUGE)])

    def s3_slow_down(self, rest, query):
        if count("slow_down") <= 2:
            return self.fault(503, "SlowDown", {"Retry-After": "0"})
        return self.objects(rest, query, [("m/a", 100)])

    def s3_cold(self, rest, query):
        if "/" in rest and self.command == "GET":
            return self.fault(403, "InvalidObjectState")
        return self.objects(rest, query, [("m/a", 100)])

    def s3_skewed(self, rest, query):
        return self.fault(403, "RequestTimeTooSkewed")

    def s3_denied(self, rest, query):
        return self.fault(403, "AccessDenied", {"x-amz-request-id": "ABC123"})

    def s3_html(self, rest, query):
        return self.answer(200, "<html><body>Welcome to the portal</body>")

    def s3_expiring(self, rest, query):
        if self.headers.get("X-Amz-Security-Token") != f"token-{tokens}":
            return self.fault(400, "ExpiredToken")
        return self.objects(rest, query, [("m/a", 100)])

    # Cloud Storage.

    def google_fault(self, status, reason, message):
        error = {"code": status, "message": message, "errors": [{"reason": reason}]}
        return self.answer(status, json.dumps({"error": error}))

    def gcs(self, kind, rest, query):
        global gets_with_token
        bucket, _, name = rest.removeprefix("storage/v1/b/").partition("/o")
        if kind != "public":
            proof = self.headers.get("Authorization")
            with lock:
                gets_with_token += 1
                late = kind == "dropping" and gets_with_token > 3
            if proof != f"Bearer token-{tokens}" or late:
                return self.google_fault(401, "authError", "Invalid Credentials")
        if bucket == "missing":
            return self.google_fault(404, "notFound", "The specified bucket does not exist.")
        if bucket == "forbidden":
            return self.google_fault(403, "forbidden", "no storage.objects.list access")
        if not name:
            return self.gcs_list(bucket, query)
        data = GCS[urllib.parse.unquote(name[1:])]
        if query.get("ifGenerationMatch") != "7" or bucket == "changed":
            return self.google_fault(412, "conditionNotMet", "Precondition failed")
        if data is PACKED and self.headers.get("Accept-Encoding") != "gzip":
            return self.answer(200, gzip.decompress(data))  # and never a range of it
        first, last = map(int, self.headers["Range"][6:].split("-"))
        headers = {"Content-Range": f"bytes {first}-{last}/{len(data)}", "ETag": '"CAcQAQ=="'}
        if data is PACKED:
            headers["Content-Encoding"] = "gzip"
        return self.answer(206, data[first : last + 1], headers)

    def gcs_list(self, bucket, query):
        names = sorted(n for n in GCS if n.startswith(query.get("prefix", "")))
        most = int(query["maxResults"])
        at = TOKENS.index(query.get("pageToken", ""))
        items = []
        for name in names[at * most : (at + 1) * most]:
            item = {"name": name, "size": str(len(GCS[name])), "generation": "7"}
            item["crc32c"] = crc32c(GCS[name]) if len(GCS[name]) < 10000 else "AAAAAA=="
            items.append(item)
        answer = {"kind": "storage#objects"}
        if items:
            answer["items"] = items
        if (at + 1) * most < len(names):
            answer["nextPageToken"] = TOKENS[at + 1]
        return self.answer(200, json.dumps(answer))


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print("port", server.server_address[1], flush=True)
sys.stdin.read()
