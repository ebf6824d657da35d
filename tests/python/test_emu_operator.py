"""Commands on emulated hosts: a shell, and hosts that wait in the background. Time stands still between commands."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from incast.emu import kernel
from incast.emu.desk import SocketDesk
from incast.emu.operator import Operator, Order, with_operator
from incast.runs import run_here
from incast.variants import make_variants
from incast.written import WrittenScenario

INCAST = [sys.executable, "-m", "incast", "emu"]
built = pytest.mark.skipif(
    kernel.find() is None, reason="the kernel of emulated hosts is not there: make uml"
)
SCENARIO = """
name: lab
topology: {kind: single-switch, hosts: 3, host_link: {rate: 1Gbps, delay: 10us}}
jobs:
  - {name: web, kind: program, hosts: host1, command: "python3 -m http.server 80", done: started}
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "lab.yaml"
    path.write_text(SCENARIO)
    return path


def emu(*words: object, said: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*INCAST, *map(str, words)], input=said, capture_output=True, text=True, check=False, timeout=120
    )


@built
def test_a_shell_keeps_its_folder_and_time_moves_only_while_a_command_runs(
    scenario: Path, tmp_path: Path
) -> None:
    lines = [
        "hostname",
        "cd /etc; x=5",
        "date +%s%N",
        "date +%s%N",
        "sleep 3; date +%s%N",
        "ping -c 1 -q host1 | grep rtt",
        "curl -s -o /dev/null -w '%{http_code}\\n' http://10.0.0.2/",
        "if",
        "exit 3",
        "pwd",
        "exit",
        "hostname",
    ]
    out = tmp_path / "out"
    done = emu("shell", scenario, "host0", "--at", "1ms", "--out", out, said="\n".join(lines))
    assert done.returncode == 0, done.stderr
    name, first, second, later, ping, code, *rest = done.stdout.splitlines()
    assert (name, code) == ("host0", "200")
    begun = 1_577_836_800_000_000_000 + 1_000_000
    assert begun <= int(first) < int(second) < begun + 1_000_000
    assert 3_000_000_000 <= int(later) - int(second) < 3_001_000_000
    # There and back through one switch, as the fabric's arithmetic has it for 98 bytes of Ethernet.
    assert "= 0.04" in ping
    assert "syntax error" in rest[0]
    # The shell that ended was replaced, and `exit` ends the run: no third name.
    assert rest[-2:] == ["/tmp", f"Result: {out}"]
    assert json.loads((out / "summary.json").read_text())["end"] == "interrupted"


@pytest.fixture
def up(scenario: Path, tmp_path: Path) -> Iterator[Path]:
    out = tmp_path / "out"
    done = emu("up", scenario, "host0", "host2", "--out", out)
    assert done.returncode == 0, done.stderr
    assert f"incast emu down {out}" in done.stdout
    yield out
    if SocketDesk.is_there(out):
        emu("down", out)


@built
def test_hosts_wait_in_the_background_for_commands(up: Path) -> None:
    assert emu("run", up, "host0", "ping", "-c", 1, "host2").returncode == 0
    assert emu("run", up, "host2", "cd /etc; exit_code() { return 7; }; exit_code").returncode == 7
    assert emu("run", up, "host2", "pwd").stdout == "/etc\n"
    assert emu("run", up, "host2", "--", "sh", "-c", "exit 9").returncode == 9
    assert emu("run", up, "host2", "printf", "[%s]", "a b", "c").stdout == "[a b][c]"
    wrong = emu("run", up, "host1", "true")
    assert (wrong.returncode, wrong.stderr) == (4, "error: host1 takes no commands: host0, host2 do\n")
    assert emu("down", up).returncode == 0
    assert (up / "summary.json").is_file()
    assert emu("run", up, "host0", "true").returncode == 4


@built
def test_a_client_that_leaves_interrupts_its_command(up: Path) -> None:
    endless = [*INCAST, "run", str(up), "host0", "cd /usr; while :; do sleep 0.001; done"]
    with subprocess.Popen(endless) as client:
        time.sleep(5)  # By then it has begun, on a busy machine too.
        assert client.poll() is None
        client.send_signal(signal.SIGTERM)
        client.wait(30)
    assert emu("run", up, "host0", "pwd").stdout == "/usr\n"


@built
def test_a_desk_that_breaks_says_why(scenario: Path, tmp_path: Path) -> None:
    class Broken(SocketDesk):
        def next(self, _now_ps: int) -> Order | None:
            raise OSError("no socket")

    written = with_operator(WrittenScenario.from_file(scenario, []), "", ["host0"], "0s")
    (variant,) = make_variants(written)
    out = tmp_path / "out"
    operator = Operator(out / "guests", ["host0"], Broken(out, ["host0"]))
    with pytest.raises(OSError, match="no socket"):
        run_here(written, variant, out, operator=operator)


@contextmanager
def up_here(scenario: Path, out: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Hosts of a process that stays in the foreground."""
    with subprocess.Popen([*INCAST, "up", scenario, "host0", "--out", out, "--here"]) as process:
        while process.poll() is None and not SocketDesk.is_there(out):
            time.sleep(0.05)
        yield process


@built
def test_hosts_start_again_where_a_run_was_killed(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with up_here(scenario, out) as process:
        process.kill()
    done = emu("up", scenario, "host0", "--out", out, "--force")
    assert done.returncode == 0, done.stderr
    assert emu("run", out, "host0", "hostname").stdout == "host0\n"
    assert emu("down", out).returncode == 0


@built
def test_what_ends_the_run_in_the_background_keeps_what_was_measured(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with up_here(scenario, out) as process:
        process.terminate()
        assert process.wait(60) == 0
    assert json.loads((out / "summary.json").read_text())["end"] == "interrupted"


@built
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_who_ends_up_before_the_hosts_are_there_leaves_none(
    number: signal.Signals, scenario: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    command = [*INCAST, "up", str(scenario), "host0", "host2", "--out", str(out)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        while process.poll() is None and not out.exists():
            time.sleep(0.01)
        assert not SocketDesk.is_there(out)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, b"Interrupted.\n")
    assert not SocketDesk.is_there(out)
    left = subprocess.run(["pgrep", "-f", str(out)], capture_output=True, text=True, check=False)
    assert left.stdout == ""


def test_a_host_that_is_not_there_and_a_folder_without_hosts_are_refused(
    scenario: Path, tmp_path: Path
) -> None:
    missing = emu("shell", scenario, "host9")
    assert missing.returncode == 2
    assert "host9" in missing.stderr
    nobody = emu("down", tmp_path)
    assert nobody.returncode == 4
    assert "nobody takes commands" in nobody.stderr
    assert "incast emu up" in nobody.stderr
