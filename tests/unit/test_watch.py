"""`conformance test --watch`: what counts as a change, and that it runs again, and ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from conformance.cli.watch import Stamp, Watcher, accepts, stamps, watched
from conformance.reference.serving.listener import served
from tests.support.running import environment, faulty, write_target
from tests.support.wire import wire


def touch(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def test_sources_are_looked_at_and_nothing_that_a_run_writes(tmp_path: Path) -> None:
    source = touch(tmp_path / "server" / "main.py")
    for name in (".git/HEAD", "reports/results.json", "node_modules/x.js", "out/report.html", ".env"):
        touch(tmp_path / name)
    assert set(stamps([tmp_path], [tmp_path / "out"])) == {source}
    assert set(stamps([source, tmp_path / "gone.toml"])) == {source}
    before = stamps([tmp_path])
    touch(source, "changed")
    assert stamps([tmp_path]) != before


def test_link_that_leads_back_is_not_followed(tmp_path: Path) -> None:
    touch(tmp_path / "main.py")
    (tmp_path / "here").symlink_to(tmp_path, target_is_directory=True)
    assert set(stamps([tmp_path])) == {tmp_path / "main.py"}


def test_server_accepts_or_does_not() -> None:
    with wire() as server:
        host, port = server.url.removeprefix("http://").split(":")
        assert accepts(host, int(port))
    assert not accepts(host, int(port))


class World:
    """What a watcher sees: at each look the next files, or the next state of the server."""

    def __init__(self, files: list[Mapping[Path, Stamp]], there: list[bool] | None = None) -> None:
        self.files, self.states = iter(files), iter(there or [])
        self.runs: list[bool] = []
        self.told: list[str] = []

    def watch(self, lost: bool = False) -> int:
        last: Mapping[Path, Stamp] = {}

        def look() -> Mapping[Path, Stamp]:
            nonlocal last
            last = next(self.files, last)
            return last

        def there() -> bool:
            try:
                return next(self.states)
            except StopIteration:
                raise KeyboardInterrupt from None

        watcher = Watcher(self.run, look, there, lambda: lost, lambda: None, self.told.append)
        return watcher.watch()

    def run(self, again: bool) -> int:
        self.runs.append(again)
        return len(self.runs)


A, B = Path("a.py"), Path("b.py")


def test_change_of_a_file_runs_again_once_it_is_written() -> None:
    world = World([{A: (1, 1)}, {A: (1, 1)}, {A: (2, 1)}, {A: (3, 9), B: (1, 1)}], [True] * 4)
    assert world.watch() == 2
    assert world.runs == [False, True]
    assert "conformance: a.py changed" in world.told


def test_change_during_a_run_is_seen() -> None:
    world = World([{A: (1, 1)}, {A: (2, 1), B: (1, 1)}], [True] * 2)
    world.watch()
    assert world.runs == [False, True]
    assert "conformance: a.py changed and 1 other file" in world.told


def test_server_that_comes_back_is_judged_again() -> None:
    world = World([{A: (1, 1)}], [True, False, False, True, True])
    world.watch()
    assert world.runs == [False, True]
    assert "conformance: the server accepts connections again" in world.told


def test_server_that_the_run_lost_is_judged_again_when_it_is_there() -> None:
    world = World([{A: (1, 1)}], [True])
    world.watch(lost=True)
    assert world.runs == [False, True]


def test_nothing_new_runs_nothing() -> None:
    world = World([{A: (1, 1)}], [True] * 5)
    assert world.watch() == 1
    assert world.runs == [False]


def test_path_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert watched(["--watch", "--watch-path", str(tmp_path / "nowhere")], list) == 4
    assert "there is no such file or folder" in capsys.readouterr().err


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    server, tables = faulty()
    touch(tmp_path / "src" / "main.py")
    with served(server, threads=True) as url:
        write_target(tmp_path / "target.toml", tables(url))
        yield tmp_path


def test_command_runs_again_and_ends_by_an_interruption(project: Path) -> None:
    command = [sys.executable, "-m", "conformance.cli", "test", "--watch", "--target", "target.toml"]
    options = ["--rule", "auth.header-case@listAccounts", "-q"]
    child = subprocess.Popen(
        [*command, *options], cwd=project, env=environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert child.stdout is not None
    lines = iter(child.stdout.readline, "")
    assert any("watching 2 files and the server" in line for line in lines)
    touch(project / "src" / "main.py", "changed = True\n")
    seen = []
    for line in lines:
        seen.append(line)
        if "watching" in line:
            break
    os.kill(child.pid, signal.SIGINT)
    child.wait(120)
    child.stdout.close()
    assert any("main.py changed" in line for line in seen)
    assert any("Partial: no violation" in line for line in seen)
    assert child.returncode == 0
    assert sorted(path.name for path in project.iterdir()) == ["reports", "src", "target.toml"]
