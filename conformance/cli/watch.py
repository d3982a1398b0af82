"""`conformance test --watch`: runs again when files change or the server comes back, what failed first.

Files are looked at by their time and size, twice a second, and the server by opening a connection: that works
on every system and file system, in containers too, and needs nothing installed.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from conformance._text import count, printable
from conformance.target.file import TargetError, load

#: Seconds between two looks at the files, and for which opening a connection may take.
PAUSE, CONNECT = 0.5, 1.0

#: Seconds that a server gets to come back after a change, before it is told that it does not answer.
WAIT = "30"

#: Files that are looked at, at most.
MOST_FILES = 50_000

#: Folders that no source is in.
_IGNORED = frozenset(
    {"__pycache__", "node_modules", "site-packages", "venv", "env", "reports", "build", "dist"}
)

#: When a file was changed, in nanoseconds, and its size.
Stamp = tuple[int, int]


def stamps(paths: Sequence[Path], ignored: Sequence[Path] = ()) -> dict[Path, Stamp]:
    """The stamps of files, and of those in folders, but for hidden ones and what no source is in."""
    found: dict[Path, Stamp] = {}
    left_out = {path.resolve() for path in ignored}
    for path in paths:
        for file in _files(path, left_out):
            if len(found) >= MOST_FILES:
                return found
            try:
                seen = file.stat()
            except OSError:
                continue
            found[file] = seen.st_mtime_ns, seen.st_size
    return found


def _files(path: Path, left_out: set[Path]) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    try:
        entries = sorted(os.scandir(path), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.name in _IGNORED:
            continue
        # A link may lead round in a circle.
        if entry.is_dir(follow_symlinks=False):
            if Path(entry.path).resolve() not in left_out:
                yield from _files(Path(entry.path), left_out)
        elif entry.is_file():
            yield Path(entry.path)


def accepts(host: str, port: int) -> bool:
    """Whether a connection can be opened."""
    try:
        with socket.create_connection((host, port), CONNECT):
            return True
    except OSError:
        return False


def _always() -> bool:
    return True


@dataclass
class Watcher:
    """Runs again and again: `run` returns the status of a run, and is told whether what failed comes first;
    `there` says whether the server accepts connections, `lost` whether the last run lost it."""

    run: Callable[[bool], int]
    look: Callable[[], Mapping[Path, Stamp]]
    there: Callable[[], bool] = _always
    lost: Callable[[], bool] = lambda: False
    pause: Callable[[], None] = lambda: time.sleep(PAUSE)
    tell: Callable[[str], None] = lambda text: print(printable(text), flush=True)
    status: int = field(default=0, init=False)

    def watch(self) -> int:
        """Runs until it is interrupted; the status of the last run."""
        try:
            seen, again = self.look(), False
            while True:
                self.status = self.run(again)
                self.tell(f"conformance: watching {count(len(seen), 'file')} and the server; Ctrl-C ends")
                seen, reason = self._change(seen)
                self.tell(f"conformance: {reason}")
                again = True
        except KeyboardInterrupt:
            return self.status

    def _change(self, before: Mapping[Path, Stamp]) -> tuple[Mapping[Path, Stamp], str]:
        """Waits for a change since some files were looked at; how they are now, and what has changed."""
        was_there = not self.lost()
        while True:
            now, is_there = self.look(), self.there()
            if now != before:
                return self._settled(now), _changed(before, now)
            if is_there and not was_there:
                return now, "the server accepts connections again"
            was_there = is_there
            self.pause()

    def _settled(self, now: Mapping[Path, Stamp]) -> Mapping[Path, Stamp]:
        """How the files are once nothing more is written."""
        while True:
            self.pause()
            last, now = now, self.look()
            if last == now:
                return now


def _changed(before: Mapping[Path, Stamp], now: Mapping[Path, Stamp]) -> str:
    paths = sorted(path for path in {*before, *now} if before.get(path) != now.get(path))
    others = f" and {count(len(paths) - 1, 'other file')}" if len(paths) > 1 else ""
    return f"{paths[0]} changed{others}"


# ---------------------------------------------------------------------- the command


def watched(words: Sequence[str], command: Callable[[Sequence[str]], list[str]]) -> int:
    """Runs `command` of the words that are pytest's until it is interrupted; the status of the last run."""
    options, rest = _parser().parse_known_args(words)
    paths = [Path(path) for path in options.watch_path or ["."]]
    if missing := [path for path in paths if not path.exists()]:
        print(
            f"conformance test: --watch-path {missing[0]}: there is no such file or folder.", file=sys.stderr
        )
        return 4
    target = options.target or os.environ.get("CONFORMANCE_TARGET")
    folder = Path(options.report_dir or os.environ.get("CONFORMANCE_REPORT_DIR") or "reports")
    if target and Path(target).is_file():
        paths.append(Path(target))
    address = _address(target, options.base_url or os.environ.get("PYTEST_BASE_URL"))
    waiting = [] if options.wait or address is None else ["--wait", WAIT]
    with tempfile.TemporaryDirectory(prefix="conformance-watch-") as cache:

        def run(again: bool) -> int:
            failed = ["-o", f"cache_dir={cache}", *(["--ff"] if again else [])]
            return _child([*command([*rest, *_given(options)]), *failed, *waiting])

        watcher = Watcher(
            run,
            look=lambda: stamps(paths, [folder]),
            there=_always if address is None else lambda: accepts(*address),
            lost=lambda: _lost(folder / "results.json"),
        )
        return watcher.watch()


def _parser() -> argparse.ArgumentParser:
    """What of the command line concerns watching; the rest is pytest's."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--watch", action="store_true")
    parser.add_argument("--watch-path", action="append")
    for name in ("target", "base-url", "report-dir", "wait"):
        parser.add_argument(f"--{name}", f"--conformance-{name}", dest=name.replace("-", "_"))
    return parser


def _given(options: argparse.Namespace) -> list[str]:
    names = {"target": options.target, "base-url": options.base_url}
    names |= {"report-dir": options.report_dir, "wait": options.wait}
    return [word for name, value in names.items() if value for word in (f"--{name}", value)]


def _address(target: str | None, base_url: str | None) -> tuple[str, int] | None:
    """Where the server listens; None for the embedded one, or where the run itself will say what is wrong."""
    try:
        url = base_url or load(Path(target) if target else None, os.environ).base_url
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme.lower() == "https" else 80)
    except (TargetError, ValueError):
        return None
    return (parts.hostname, port) if parts.hostname else None


def _lost(results: Path) -> bool:
    """Whether the last run lost the server."""
    try:
        return bool(json.loads(results.read_text("utf-8"))["lost"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _child(arguments: Sequence[str]) -> int:
    """Runs pytest in a process of its own, as what it imports stays in memory; an interruption reaches it,
    too, and ends the watching once it has reported."""
    child = subprocess.Popen([sys.executable, "-m", "pytest", *arguments])
    try:
        return child.wait()
    except KeyboardInterrupt:
        child.wait()
        raise
