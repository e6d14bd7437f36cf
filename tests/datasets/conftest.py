"""A server on loopback that serves files whole, or badly; nothing leaves the machine."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Server:
    """What is served, and what was asked for; the switches make it misbehave."""

    def __init__(self):
        self.files = {}
        self.requests = []
        self.cut_after = []  # bytes after which the next answers break off
        self.content_type = "application/zip"
        self.says_length = True
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                server.answer(self)

            def log_message(self, *arguments):
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._http.server_port}"

    def stop(self):
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def answer(self, request):
        self.requests.append(request.path)
        content = self.files.get(request.path)
        if content is None:
            request.send_error(404)
            return
        request.send_response(200)
        request.send_header("Content-Type", self.content_type)
        if self.says_length:
            request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content[: self.cut_after.pop(0)] if self.cut_after else content)


@pytest.fixture
def server(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    made = Server()
    yield made
    made.stop()
