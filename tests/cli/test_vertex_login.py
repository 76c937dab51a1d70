"""Who logs in at Vertex AI and how, over TLS with a certificate of ours."""

import datetime
import ipaddress
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.ingest import vertex_messages as vertex
from tests.ingest.vertex_server import Fault, Server

LOGIN = "gcloud auth application-default login"


class Tokens(BaseHTTPRequestHandler):
    """Where tokens are given out, or the answer is that a login has expired."""

    def do_POST(self) -> None:
        """Another token each time."""
        self.rfile.read(int(self.headers["Content-Length"]))
        told: Any = self.server
        told.given += 1
        answer = {"access_token": f"token-{told.given}", "expires_in": 3600, "token_type": "Bearer"}
        if told.expired:
            words = "Token has been expired or revoked."
            answer = {"error": "invalid_grant", "error_description": words}
        text = json.dumps(answer).encode()
        self.send_response(400 if told.expired else 200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def tokens() -> Iterator[Any]:
    """A server of tokens on loopback."""
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Tokens)
    server.given, server.expired = 0, False
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


class Home:
    """A home with a service over TLS, and a way to log in there."""

    def __init__(self, folder: Path) -> None:
        from cryptography.hazmat.primitives import serialization as words
        from cryptography.hazmat.primitives.asymmetric import rsa

        self.folder = folder
        secret = rsa.generate_private_key(65537, 2048)
        self.secret = secret.private_bytes(
            words.Encoding.PEM, words.PrivateFormat.PKCS8, words.NoEncryption()
        )
        self.certificate = _certificate(secret)
        (folder / "roots.pem").write_bytes(self.certificate)
        self.server = Server(jobs={vertex.JOB: vertex.custom_job("456")})

    def key(self) -> dict[str, str]:
        """The key of a service account."""
        return {
            "type": "service_account", "project_id": "p", "client_email": "a@b",
            "private_key_id": "1", "private_key": self.secret.decode(),
            "token_uri": "http://127.0.0.1:1/nobody",
        }  # fmt: skip

    def runwatch(self, credentials: dict[str, str] | None) -> "subprocess.CompletedProcess[str]":
        """One look with these credentials."""
        given = {}
        if credentials is not None:
            path = self.folder / "credentials.json"
            path.write_text(json.dumps(credentials))
            given = {"GOOGLE_APPLICATION_CREDENTIALS": str(path)}
        where = f"localhost:{self.server.port}"
        surroundings = {
            name: value for name, value in os.environ.items()
            if not name.startswith(("GOOGLE_", "CLOUDSDK_"))
        }  # fmt: skip
        return subprocess.run(
            [sys.executable, "-m", "runwatch", "watch", "--vertex-training", "456", "--project",
             vertex.PROJECT, "--once", "--no-store", "--vertex-endpoint", where,
             "--logging-endpoint", where],
            env={**surroundings, **given, "HOME": str(self.folder), "NO_GCE_CHECK": "true",
                 "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(self.folder / "roots.pem")},
            cwd=self.folder, capture_output=True, text=True, timeout=120,
        )  # fmt: skip


def _certificate(secret: Any) -> bytes:
    """For this machine, by itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization

    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(secret.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
    )
    return built.sign(secret, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    for name in ("grpc", "google.cloud.aiplatform_v1", "cryptography"):
        pytest.importorskip(name)
    home = Home(tmp_path)
    home.server.start(home.secret, home.certificate)
    home.server.log(vertex.entry("Step 1/9 | loss=2.5", 1))
    yield home
    home.server.stop()


def person(tokens: Any) -> dict[str, str]:
    """The login of a person, as gcloud keeps it."""
    return {
        "type": "external_account_authorized_user", "client_id": "c", "client_secret": "s",
        "refresh_token": "r", "token_url": f"http://127.0.0.1:{tokens.server_port}/token",
        "audience": "//iam.googleapis.com/locations/global/workforcePools/w/providers/p",
    }  # fmt: skip


def test_a_person_s_login_is_taken_over_tls(home: Home, tokens: Any) -> None:
    """One token for all calls, and the log is read."""
    done = home.runwatch(person(tokens))
    assert "Recent logs: Step 1/9" in done.stdout, done.stdout + done.stderr
    assert {"Bearer token-1"} == set(home.server.tokens)
    assert "" == done.stderr


def test_a_key_signs_its_tokens_itself(home: Home) -> None:
    """No other service is asked for them."""
    done = home.runwatch(home.key())
    assert "Recent logs: Step 1/9" in done.stdout, done.stdout + done.stderr
    assert all(token.startswith("Bearer ey") for token in home.server.tokens)


@pytest.mark.parametrize("what", ["expired", "refused", "none"])
def test_a_login_that_is_no_good_says_how_to_log_in(home: Home, tokens: Any, what: str) -> None:
    """Code 3, state unknown, and what to run; no secret is told."""
    tokens.expired = what == "expired"
    if what == "refused":
        home.server.faults["GetCustomJob"] = Fault("UNAUTHENTICATED", "token expired")
    done = home.runwatch(None if what == "none" else person(tokens))
    told = " ".join(done.stdout.split())
    assert (3, True) == (done.returncode, LOGIN in told), done.stdout + done.stderr
    assert "Terminal state: UNKNOWN" in told
    assert (what == "refused") == bool(home.server.asked)
    assert "token-1" not in done.stdout + done.stderr


def test_a_certificate_that_nobody_vouches_for_is_not_trusted(home: Home, tokens: Any) -> None:
    """No token goes to whoever answers there."""
    (home.folder / "roots.pem").write_bytes(Home(home.folder / "..").certificate)
    done = home.runwatch(person(tokens))
    assert (3, []) == (done.returncode, home.server.tokens)
