"""talk.py - speaks with `hone mcp` over pipes, for t/mcp.sh. Needs nothing but Python.

    s = Server("--dir", ".")
    s.tool("list_tasks")["structuredContent"]

A check prints one line, "ok TEXT" or "not ok TEXT", which t/mcp.sh turns into TAP.
"""
import json
import os
import select
import subprocess
import time

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
STATELESS = {VERSION: "2026-07-28", CAPABILITIES: {}}


def check(text, good, detail=""):
    print("ok " + text if good else "not ok %s\t%.600s" % (text, detail), flush=True)


def same(text, got, want):
    check(text, got == want, "got %r, want %r" % (got, want))


class Server:
    def __init__(self, *args, env=None):
        self.process = subprocess.Popen([os.environ["HONE"], "mcp", *args], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        env=dict(os.environ, **(env or {})))
        self.out = self.process.stdout.fileno()
        self.rest = b""
        self.last = 0
        self.others = []  # messages that came while we waited for another one
        self.handshake = False

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        self.write(json.dumps(message).encode() + b"\n")

    def receive(self, seconds=60):
        """Returns the next message, or None. A line that is no JSON raises an exception."""
        until = time.monotonic() + seconds
        while b"\n" not in self.rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.out], [], [], left)[0]:
                return None
            data = os.read(self.out, 1 << 20)
            if not data:
                return None
            self.rest += data
        line, self.rest = self.rest.split(b"\n", 1)
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0", line
        return message

    def begin(self, method, params=None, meta=None, token=None):
        """Sends a request and returns its id."""
        self.last += 1
        params = dict(params or {})
        meta = dict(meta if meta is not None else {} if self.handshake else STATELESS)
        if token is not None:
            meta["progressToken"] = token
        if meta:
            params["_meta"] = meta
        self.send({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        return self.last

    def finish(self, wanted, seconds=60):
        until = time.monotonic() + seconds
        while True:
            message = self.receive(until - time.monotonic())
            if message is None or message.get("id") == wanted:
                return message
            self.others.append(message)

    def ask(self, method, params=None, meta=None, token=None, seconds=60):
        return self.finish(self.begin(method, params, meta, token), seconds)

    def initialize(self, version="2025-11-25"):
        self.handshake = True
        answer = self.ask("initialize", {"protocolVersion": version, "capabilities": {},
                                         "clientInfo": {"name": "test", "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def tool(self, name, token=None, seconds=60, **arguments):
        answer = self.ask("tools/call", {"name": name, "arguments": arguments}, token=token,
                          seconds=seconds)
        return answer["result"]

    def cancel(self, request):
        self.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                   "params": {"requestId": request}})

    def close(self, seconds=20):
        """Ends the input. Returns the exit status, or None if the server does not end."""
        self.process.stdin.close()
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return None


def words(result):
    return "\n".join(block.get("text", "") for block in result["content"])


def descendants(pid):
    """Returns the descendants of the process pid."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name) as f:
                    parents[int(name)] = int(f.read().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                pass
    found = {pid}
    while True:
        more = {p for p, parent in parents.items() if parent in found} - found
        if not more:
            return found - {pid}
        found |= more
