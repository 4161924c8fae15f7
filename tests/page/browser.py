"""A headless Chromium, spoken to through a pipe: no driver, no package."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import select
import shutil
import subprocess
import time

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")


class Browser:
    """One page of a browser: open a file, run an expression, press a key, see what was requested and logged."""

    def __init__(self, folder):
        program = next((found for name in NAMES if (found := shutil.which(name))), None)
        if program is None:
            pytest.skip("no Chromium here")
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()

        def arrange():
            os.dup2(to_browser, 103)
            os.dup2(from_browser, 104)
            os.dup2(103, 3)
            os.dup2(104, 4)

        flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-pipe",
            f"--user-data-dir={folder}",
        ]
        self._process = subprocess.Popen(
            [program, *flags, "about:blank"],
            preexec_fn=arrange,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._numbers, self._rest, self.events = itertools.count(1), b"", []
        self._session = None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for room in ("Page", "Runtime", "Network", "Log", "DOM"):
            self.send(f"{room}.enable")

    def send(self, method, **parameters):
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == number:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self.events.append(answer)

    def _read(self, seconds=120):
        limit = time.monotonic() + seconds
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(0.0, limit - time.monotonic()))
            assert ready, "the browser does not answer"
            self._rest += os.read(self._in, 1 << 20)
        text, _, self._rest = self._rest.partition(b"\0")
        return json.loads(text)

    def open(self, path, width=1280, height=900, hash="", wait=True):  # noqa: A002
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        for url in (
            "about:blank",
            path.as_uri() + hash,
        ):  # another hash alone would not load the page again
            self.events.clear()
            self.send("Page.navigate", url=url)
            while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
                self.events.append(self._read())
        if wait:
            self.run("new Promise(done => setTimeout(done, 100))")

    def run(self, expression):
        """The value of a JavaScript expression in the page."""
        answer = self.send(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key, code=None):
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            number = {"Enter": 13, "ArrowRight": 39, "ArrowDown": 40, "Escape": 27, "Tab": 9}[key]
            self.send(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=code or key,
                windowsVirtualKeyCode=number,
                **text,
            )

    def media(self, kind="screen", scheme="light"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", media=kind, features=features)

    def picture(self, path):
        answer = self.send("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(answer["data"]))

    @property
    def requests(self):
        """Addresses that were asked for, other than the file itself and pictures that are inside it."""
        sent = [
            e["params"]["request"]["url"]
            for e in self.events
            if e.get("method") == "Network.requestWillBeSent"
        ]
        return [url for url in sent if not url.startswith(("file:", "data:image/"))]

    @property
    def complaints(self):
        """Everything on the console, and dialogs that a script opened."""
        rooms = (
            "Log.entryAdded",
            "Runtime.consoleAPICalled",
            "Runtime.exceptionThrown",
            "Page.javascriptDialogOpening",
        )
        return [event for event in self.events if event.get("method") in rooms]

    def close(self):
        with contextlib.suppress(OSError, AssertionError):
            self._session = None
            self.send("Browser.close")
        self._process.wait(timeout=20)
        for descriptor in (self._in, self._out):
            os.close(descriptor)
