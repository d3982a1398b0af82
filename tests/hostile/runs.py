"""Whole runs of pytest in a subprocess against a hostile server."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.hostile.modes import Mode
from tests.hostile.server import Hostile, Scale, hostile
from tests.support.running import ROOT, environment, suite, write_target

#: Memory limit of each process in MB.
MOST_MEMORY = 512

#: Texts that no output may contain.
_SIGNS = ("Traceback (most recent call last)", "INTERNALERROR", "\x1b")


@dataclass
class Outcome:
    """End of a run: seconds, peak memory of the largest process in MB, exit status, output."""

    mode: Mode
    seconds: float
    memory: float
    status: int
    output: str
    folder: Path
    seen: int
    #: The verdict, or the reason for none, in one line.
    sentence: str = ""
    #: Requirements that the run violated, a sentence each.
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sentence = self._sentence()

    def _sentence(self) -> str:
        with contextlib.suppress(OSError, ValueError, KeyError):
            verdict = json.loads((self.folder / "results.json").read_text("utf-8"))["verdict"]
            return str(verdict["sentence"])
        told = [line for line in self.output.splitlines() if line.startswith("ERROR:")]
        return told[0] if told else (self.output.strip().splitlines() or [""])[-1]


def run(mode: Mode, folder: Path, *options: str, scale: Scale | None = None, most: float = 600.0) -> Outcome:
    """Runs against a server of a mode, with reports in a folder; kills it after `most` seconds."""
    with hostile(mode.behave, mode.when, scheme=mode.scheme, scale=scale) as server:
        target = write_target(folder / "target.toml", server.tables)
        arguments = ["--target", str(target), *mode.options, *options]
        with ThreadPoolExecutor(mode.runs) as pool:
            runs = [pool.submit(_run, mode, server, folder, arguments, most) for _ in range(mode.runs)]
        outcomes = [each.result() for each in runs]
        leaked = [request.line for request in server.elsewhere.requests]
    outcome = max(outcomes, key=lambda each: each.status)
    outcome.output = "".join(each.output for each in outcomes)
    outcome.problems = [*_problems(outcome, server), *(f"sent elsewhere: {line!r}" for line in leaked)]
    return outcome


def _problems(outcome: Outcome, server: Hostile) -> list[str]:
    """Returns the requirements that a run violated."""
    mode, found = outcome.mode, []
    if outcome.status not in mode.statuses:
        found.append(f"exit status {outcome.status}, not {sorted(mode.statuses)}")
    if not re.search(mode.tells, outcome.sentence + outcome.output):
        found.append(f"no word of {mode.tells!r}: {outcome.sentence}")
    if outcome.memory > MOST_MEMORY:
        found.append(f"{outcome.memory:.0f} MB")
    found += [f"{sign!r} in the output" for sign in _SIGNS if sign in outcome.output]
    texts = [path.read_text("utf-8") for path in outcome.folder.rglob("*") if path.suffix in _TEXTS]
    secrets = [server.tables[name]["secret"] for name in ("primary", "secondary")]
    if any(secret in text for secret in secrets for text in [*texts, outcome.output]):
        found.append("a secret in a report")
    if any("<script>alert(1)" in text for text in texts if "<!doctype html" in text[:200].lower()):
        found.append("markup in a page")
    if any("\x1b" in text for text in texts):
        found.append("a terminal escape in a report")
    found += _unkept(outcome)
    return found


#: Suffixes of reports in text formats.
_TEXTS = (".json", ".html", ".md")


def _unkept(outcome: Outcome) -> list[str]:
    """Returns measurements that a run lost; none for one that never started."""
    if outcome.status in (3, 4):
        return []
    try:
        results = json.loads((outcome.folder / "results.json").read_text("utf-8"))
    except (OSError, ValueError) as error:
        return [f"results.json: {error}"]
    judged = [
        cell for cell in results["cells"] if cell["verdict"] in ("passed", "failed", "observed", "warning")
    ]
    return [] if judged else ["nothing of what was measured is reported"]


# ---------------------------------------------------------------------- processes


def _run(mode: Mode, server: Hostile, folder: Path, arguments: Sequence[str], most: float) -> Outcome:
    begin = time.monotonic()
    # On Linux the peak of a child starts with its parent's, and the server may have made 100 MB.
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            suite(folder / "reports", arguments),
            cwd=folder,
            env=environment(PYTHONPATH=str(ROOT)),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        threading.Thread(target=_meddle, args=(mode, server, process), daemon=True).start()
        killer = threading.Timer(most, process.kill)
        killer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            killer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    # The peak of the largest process is in KB on Linux, in bytes on macOS.
    memory = usage.ru_maxrss / (1024 if sys.platform != "darwin" else 1024 * 1024)
    seconds = time.monotonic() - begin
    return Outcome(mode, seconds, memory, process.returncode, text, folder / "reports", server.seen)


def _meddle(mode: Mode, server: Hostile, process: subprocess.Popen[bytes]) -> None:
    """Sends a run the signals of a mode, or kills one of its processes, once it has judged something."""
    if not mode.signals:
        return
    while server.seen < 4 * server.scale.after:
        if server.closing.wait(0.01) or process.returncode is not None:
            return
    for number in mode.signals:
        if number is signal.SIGKILL:
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            os.kill(int(children[0]), number)
        else:
            process.send_signal(number)
        server.closing.wait(0.3)
