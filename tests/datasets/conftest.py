"""A server on loopback that serves files whole, in part, or badly; nothing leaves the machine."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Server:
    """What is served, and what was asked for; the switches make it misbehave."""

    def __init__(self):
        self.files = {}
        self.requests = []  # (path, range or None)
        self.cut_after = []  # bytes after which the next answers break off
        self.tag = '"first"'
        self.takes_ranges = True
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
        wanted = request.headers.get("Range")
        self.requests.append((request.path, wanted))
        content = self.files.get(request.path)
        if content is None:
            request.send_error(404)
            return
        first, status = self._begin(request, wanted, len(content))
        if status == 416:
            request.send_error(416)
            return
        request.send_response(status)
        request.send_header("Content-Type", self.content_type)
        if self.tag:
            request.send_header("ETag", self.tag)
        if self.says_length:
            request.send_header("Content-Length", str(len(content) - first))
        if status == 206:
            request.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
        request.end_headers()
        last = first + self.cut_after.pop(0) if self.cut_after else len(content)
        request.wfile.write(content[first:last])

    def _begin(self, request, wanted, size):
        fits = request.headers.get("If-Range") in (None, self.tag)
        if wanted is None or not self.takes_ranges or not fits:
            return 0, 200
        first = int(wanted.removeprefix("bytes=").removesuffix("-"))
        return (first, 206) if first < size else (first, 416)


@pytest.fixture
def server(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    made = Server()
    yield made
    made.stop()
