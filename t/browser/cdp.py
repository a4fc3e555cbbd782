"""Drives headless Chromium over its debugging protocol, through a pipe. Standard library only.

    with Browser() as b:
        page = b.page(width=375, height=800)
        page.open("http://127.0.0.1:4663/")
        page.wait("document.querySelector('h1')")
        print(page.eval("document.title"))
        page.screenshot("runs.png")
"""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")


def find():
    return next((p for p in map(shutil.which, NAMES) if p), None)


class Browser:
    def __init__(self):
        self.home = tempfile.mkdtemp(prefix="hone-browser-")
        to_r, self.to = os.pipe()
        self.back, back_w = os.pipe()

        def set_fds():
            a, b = os.dup(to_r), os.dup(back_w)
            a, b = os.dup2(a, 13), os.dup2(b, 14)
            os.dup2(13, 3)
            os.dup2(14, 4)
            for fd in (3, 4):
                os.set_inheritable(fd, True)

        args = [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--no-first-run", "--disable-extensions", "--disable-background-networking",
                "--user-data-dir=" + self.home, "--remote-debugging-pipe", "about:blank"]
        self.process = subprocess.Popen(args, preexec_fn=set_fds, close_fds=False,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_r)
        os.close(back_w)
        self.buffer, self.n, self.events = b"", 0, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
        except (OSError, EOFError, RuntimeError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
        shutil.rmtree(self.home, ignore_errors=True)

    def read(self):
        while b"\0" not in self.buffer:
            more = os.read(self.back, 1 << 16)
            if not more:
                raise EOFError("the browser has ended")
            self.buffer += more
        one, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(one)

    def call(self, method, session=None, **params):
        self.n += 1
        message = {"id": self.n, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            got = self.read()
            if got.get("id") == message["id"]:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']}")
                return got.get("result", {})
            self.events.append(got)

    def page(self, width=1600, height=1000, dark=False):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, target)
        page.size(width, height)
        for domain in ("Page", "Runtime", "Network", "Log", "DOM", "Accessibility"):
            page.call(domain + ".enable")
        page.media(dark)
        return page


class Page:
    def __init__(self, browser, session, target):
        self.browser, self.session, self.target = browser, session, target

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)

    def media(self, dark=False, kind=""):
        self.call("Emulation.setEmulatedMedia", media=kind, features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, url):
        self.call("Page.navigate", url=url)

    def eval(self, text):
        got = self.call("Runtime.evaluate", expression=text, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in got:
            raise RuntimeError(got["exceptionDetails"].get("exception", {}).get("description", text))
        return got["result"].get("value")

    def wait(self, condition, seconds=10):
        end = time.time() + seconds
        while time.time() < end:
            try:
                if self.eval(f"!!({condition})"):
                    return True
            except RuntimeError:
                pass
            time.sleep(0.05)
        return False

    def key(self, name, code=None, text=None, modifiers=0):
        codes = {"Tab": 9, "Enter": 13, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
                 "ArrowDown": 40, "Home": 36, "End": 35}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=code or name,
                      windowsVirtualKeyCode=codes.get(name, 0), modifiers=modifiers,
                      **({"text": "\r"} if name == "Enter" and kind == "keyDown" else {}))

    def screenshot(self, path, full=True):
        if full:
            self.eval("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=full)
        with open(path, "wb") as f:
            f.write(base64.b64decode(shot["data"]))

    def seen(self, method):
        """The events of one kind so far, of this page."""
        self.eval("1")  # also reads the events that wait in the pipe
        return [e["params"] for e in self.browser.events
                if e.get("method") == method and e.get("sessionId") == self.session]
