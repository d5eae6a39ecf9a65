#!/usr/bin/env python3
"""moto's S3 on 127.0.0.1, behind a check of every signature by botocore's own signer. For tests.

Prints "ready PORT ACCESS-KEY SECRET" once it listens, serves until its stdin closes. Buckets whose
name begins with "public" take requests without a signature, others refuse them. (moto can check
signatures too, but over the decoded path: it refuses good ones of names with a percent sign.)
"""

import logging
import secrets
import sys
import threading

logging.getLogger("werkzeug").setLevel(logging.ERROR)

from botocore.auth import S3SigV4Auth  # noqa: E402
from botocore.awsrequest import AWSRequest  # noqa: E402
from botocore.credentials import Credentials  # noqa: E402
from moto.moto_server.werkzeug_app import DomainDispatcherApplication  # noqa: E402
from moto.moto_server.werkzeug_app import create_backend_app  # noqa: E402
from werkzeug.serving import make_server  # noqa: E402

KEY = "AKIATESTER0000000000"
SECRET = secrets.token_urlsafe(30)
TO_MOTO = "AWS4-HMAC-SHA256 Credential=any/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"


def fault(environ):
    """The code of what is wrong with the request's signature, or None."""
    proof = environ.get("HTTP_AUTHORIZATION", "")
    uri = environ["RAW_URI"]
    if not proof:
        if not uri.startswith("/public"):
            return "AccessDenied"
        environ["HTTP_AUTHORIZATION"] = TO_MOTO
        return None
    fields = dict(f.strip().split("=", 1) for f in proof.split(" ", 1)[1].split(","))
    key, _, region, service, _ = fields["Credential"].split("/")
    if key != KEY:
        return "InvalidAccessKeyId"
    headers = {}
    for name in fields["SignedHeaders"].split(";"):
        variable = name.upper().replace("-", "_")
        plain = variable in ("CONTENT_LENGTH", "CONTENT_TYPE")
        headers[name] = environ.get(variable if plain else "HTTP_" + variable, "")
    url = f"http://{environ['HTTP_HOST']}{uri}"
    request = AWSRequest(method=environ["REQUEST_METHOD"], url=url, headers=headers)
    request.context["timestamp"] = headers["x-amz-date"]
    signer = S3SigV4Auth(Credentials(KEY, SECRET), service, region)
    text = signer.string_to_sign(request, signer.canonical_request(request))
    if signer.signature(text, request) != fields["Signature"]:
        return "SignatureDoesNotMatch"
    return None


class Checked:
    def __init__(self, app):
        self.app = app

    def __call__(self, environ, start_response):
        code = fault(environ)
        if code is None:
            return self.app(environ, start_response)
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        body = f"<?xml version='1.0'?><Error><Code>{code}</Code></Error>".encode()
        headers = [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))]
        start_response("403 Forbidden", headers)
        return [body]


server = make_server(
    "127.0.0.1", 0, Checked(DomainDispatcherApplication(create_backend_app)), threaded=True
)
threading.Thread(target=server.serve_forever, daemon=True).start()
print("ready", server.server_address[1], KEY, SECRET, flush=True)
sys.stdin.read()
