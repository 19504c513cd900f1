"""Chromium without a window, for tests that click: driven through a pipe in its own protocol."""

from __future__ import annotations

import base64
import fcntl
import itertools
import json
import os
import select
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe"),
)
PATIENCE = 30  # seconds
KEYS = {"Tab": ("Tab", 9, ""), "Enter": ("Enter", 13, "\r"), "Escape": ("Escape", 27, "")}


class Browser:
    """One page in one browser. ``complaints`` are what the console and the network said, in order.

    Parameters
    ----------
    profile : path
        A folder that the browser may fill.
    """

    def __init__(self, profile: str | Path):
        to_read, to_write = os.pipe(), os.pipe()
        # The protocol is spoken on the file descriptors 3 and 4; those that are put there must be none of the two.
        theirs = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (to_read[0], to_write[1])]
        nowhere = os.open(os.devnull, os.O_WRONLY)
        placed = [(theirs[0], 3), (theirs[1], 4), (nowhere, 1), (nowhere, 2)]
        self._process = os.posix_spawn(
            str(CHROMIUM),
            [str(CHROMIUM), *OPTIONS, f"--user-data-dir={profile}", "about:blank"],
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, end, number) for end, number in placed],
        )
        for end in (to_read[0], to_write[1], *theirs, nowhere):
            os.close(end)
        self._out, self._in, self._held = to_read[1], to_write[0], b""
        self._numbers, self._session, self._events = itertools.count(1), "", []
        self.complaints: list[str] = []
        page = next(one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        os.kill(self._process, signal.SIGTERM)
        os.waitpid(self._process, 0)
        os.close(self._out)
        os.close(self._in)

    def call(self, method: str, **given: Any) -> dict[str, Any]:
        """Ask the browser for something and wait for the answer."""
        number = next(self._numbers)
        asked = {"id": number, "method": method, "params": given, "sessionId": self._session}
        if not self._session:
            del asked["sessionId"]
        os.write(self._out, json.dumps(asked).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._held:
            assert select.select([self._in], [], [], max(0.0, end - time.monotonic()))[0], "the browser is silent"
            self._held += os.read(self._in, 1 << 20)
        message, _, self._held = self._held.partition(b"\0")
        found = json.loads(message)
        self._note(found.get("method", ""), found.get("params", {}))
        return found

    def _note(self, event: str, told: dict[str, Any]) -> None:
        self._events.append(event)
        if event == "Log.entryAdded":
            self.complaints.append(told["entry"]["text"])
        elif event == "Runtime.exceptionThrown":
            self.complaints.append(str(told["exceptionDetails"]))
        elif event == "Runtime.consoleAPICalled":
            self.complaints.append(str(told["args"]))
        elif event == "Network.requestWillBeSent":
            address = told["request"]["url"]
            if not address.startswith(("file:", "data:", "about:")):
                self.complaints.append(f"asked for {address}")

    def look(self, *, width: int, height: int = 900, dark: bool = False, media: str = "", script: bool = True) -> None:
        """Set the size of the window, the scheme of colors, ``print`` as medium, and whether scripts run."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self.call("Emulation.setScriptExecutionDisabled", value=not script)

    def open(self, path: str | Path, fragment: str = "") -> None:
        """Open a file and wait until it is there."""
        self.follow(lambda: self.call("Page.navigate", url=Path(path).resolve().as_uri() + fragment))

    def follow(self, action: Callable[[], Any]) -> None:
        """Do what opens another page, and wait until it is there."""
        self._events.clear()
        action()
        while "Page.loadEventFired" not in self._events:
            self._next()

    def ask(self, expression: str) -> Any:
        """The value of an expression of JavaScript in the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def click(self, selector: str) -> None:
        """Click with the mouse on the middle of the first element that a selector finds."""
        place = self.ask(
            f"""(() => {{ const found = document.querySelector({json.dumps(selector)});
            found.scrollIntoView({{block: "center"}}); const box = found.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2]; }})()"""
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    def press(self, key: str) -> None:
        """Press a key: one of ``KEYS``, or a character."""
        name, code, text = KEYS.get(key, (key, ord(key[0].upper()), key))
        told = {"key": name, "windowsVirtualKeyCode": code, **({"text": text} if text else {})}
        self.call("Input.dispatchKeyEvent", type="keyDown", **told)
        self.call("Input.dispatchKeyEvent", type="keyUp", **{key: told[key] for key in told if key != "text"})

    def type(self, text: str) -> None:
        """Type a text, character by character, into what has the focus."""
        for character in text:
            self.press(character)

    def picture(self, path: str | Path, *, whole: bool = False) -> Path:
        """Save what the window shows, or the whole page, as a PNG."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        Path(path).write_bytes(base64.b64decode(data))
        return Path(path)

    def printed(self, path: str | Path) -> Path:
        """Save the page as it would be printed, as a PDF."""
        Path(path).write_bytes(base64.b64decode(self.call("Page.printToPDF")["data"]))
        return Path(path)
