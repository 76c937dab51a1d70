"""A real HTTP server on loopback that speaks the chat completions protocol, or breaks it."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Keeps what was asked, and answers as it is told to."""

    server: "Endpoint"

    def do_POST(self) -> None:
        """One question."""
        size = int(self.headers.get("Content-Length", 0))
        asked = {"path": self.path, "key": self.headers.get("Authorization"),
                 "body": json.loads(self.rfile.read(size))}  # fmt: skip
        self.server.asked.append(asked)
        self.server.answer(self)

    def log_message(self, *about: Any) -> None:
        """Says nothing."""

    def give(self, body: bytes, code: int = 200, **headers: str) -> None:
        """One whole answer."""
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Endpoint(ThreadingHTTPServer):
    """Serves until closed; `let_go` frees whoever was made to hang."""

    daemon_threads = True

    def __init__(self, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer, self.asked, self.let_go = answer, list[dict[str, Any]](), threading.Event()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """As in LLM_BASE_URL."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def close(self) -> None:
        """Stop."""
        self.let_go.set()
        self.shutdown()
        self._thread.join()
        self.server_close()

    def handle_error(self, *about: Any) -> None:
        """A client that went away is what is tested."""


@contextmanager
def endpoints() -> Iterator[Callable[[Answer], Endpoint]]:
    """Starts endpoints that answer as they are told; afterwards they are gone."""
    made: list[Endpoint] = []

    def start(answer: Answer) -> Endpoint:
        made.append(Endpoint(answer))
        return made[-1]

    try:
        yield start
    finally:
        for endpoint in made:
            endpoint.close()


def completion(text: Any) -> bytes:
    """An answer as it is published."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "stop",
    }
    return json.dumps({"id": "1", "object": "chat.completion", "choices": [choice]}).encode()


def says(text: Any) -> Answer:
    """Answers with a text."""
    return lambda handler: handler.give(completion(text))


def gives(body: bytes, code: int = 200, **headers: str) -> Answer:
    """Answers with bytes."""
    return lambda handler: handler.give(body, code, **headers)


def hangs(handler: Handler) -> None:
    """Never answers."""
    handler.server.let_go.wait(60)


def drips(handler: Handler) -> None:
    """Sends a byte now and then, so that no single read ever takes long."""
    handler.send_response(200)
    handler.end_headers()
    while not handler.server.let_go.wait(0.05):
        handler.wfile.write(b" ")
        handler.wfile.flush()


def pours(handler: Handler) -> None:
    """Sends more than anybody asked for, without an end."""
    handler.send_response(200)
    handler.end_headers()
    while not handler.server.let_go.is_set():
        handler.wfile.write(b"x" * (1 << 16))


def hangs_up(handler: Handler) -> None:
    """Closes the connection without a word."""
    handler.close_connection = True
