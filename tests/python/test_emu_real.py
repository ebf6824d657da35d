"""Programs on this machine's clock: hosts of their own, late packets counted, nothing left behind."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from incast.emu import congestion, kernel, readings

SCENARIO = """
name: real
topology: {{kind: single-switch, hosts: 3, host_link: {{rate: {rate}, delay: {delay}}}}}
switch: {{buffer: {{kind: static, limit: 60kB}}}}
host: {{tcp: {{congestion: reno}}}}
jobs:
{jobs}
{more}
clock: {{kind: real, scale: {scale}, late: {late}}}
until: {until}
"""
PING = "name: ping, hosts: host0, start: 100ms, command: ping -i .05 -c 10 10.0.0.2"
SILENT = "name: other, hosts: host1, command: 'true', done: started"
RECEIVES = """
import socket, sys
with socket.create_server(("", 9)) as server:
    stream, _ = server.accept()
    print(sum(iter(lambda: len(stream.recv(1 << 20)), 0)))
"""
SENDS = """
import socket, time
begun = time.monotonic()
with socket.create_connection(("10.0.0.2", 9)) as stream:
    stream.sendall(bytes(4_000_000))
    stream.shutdown(socket.SHUT_WR)
    stream.recv(1)
print(time.monotonic() - begun)
"""
INCAST = """
name: incast
topology: {{kind: single-switch, hosts: 5, host_link: {{rate: 100Mbps, delay: 100us}}}}
switch: {{buffer: {{kind: static, limit: 200kB}}, {queue}}}
host: {{tcp: {{congestion: {congestion}}}}}
jobs:
  - {{kind: program, {receives}, done: started}}
  - {{kind: program, {sends}}}
clock: {{kind: real, late: 20ms}}
until: 20s
"""
TAKES = """
import socket
with socket.create_server(("", 9)) as server:
    streams = [server.accept()[0] for _ in range(4)]
    while streams:
        streams = [stream for stream in streams if stream.recv(1 << 20)]
"""
TELLS = """
import pathlib, socket, struct
with socket.create_connection(("10.0.0.5", 9)) as stream:
    stream.sendall(bytes(2_500_000))
    stream.shutdown(socket.SHUT_WR)
    stream.recv(1)
    info = stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    name = stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
settings = pathlib.Path("/proc/sys/net/ipv4")
print(struct.unpack_from("I", info, 100)[0], name.rstrip(bytes(1)).decode(),
      *(settings.joinpath(each).read_text().strip() for each in ("tcp_congestion_control", "tcp_ecn")))
"""
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
can = pytest.mark.skipif(
    os.geteuid() != 0 or not os.access("/dev/net/tun", os.R_OK | os.W_OK) or not shutil.which("ping"),
    reason="only root makes networks, and it takes /dev/net/tun and ping",
)


def real(test: Callable[..., None]) -> Callable[..., None]:
    """A test of real hosts: packets that are late because of other tests would fail it."""
    marked: Callable[..., None] = pytest.mark.alone(can(test))
    return marked


def write(folder: Path, *jobs: str, more: str = "", **settings: str) -> Path:
    """A scenario with these jobs."""
    asked = {"rate": "100Mbps", "delay": "5ms", "scale": "1", "late": "20ms", "until": "20s", **settings}
    lines = "\n".join(f"  - {{kind: program, {job}}}" for job in jobs)
    path = folder / "real.yaml"
    path.write_text(SCENARIO.format(jobs=lines, more=more, **asked))
    return path


def run(folder: Path, *jobs: str, more: str = "", **settings: str) -> tuple[int, str, dict[str, Any]]:
    """Exit code, what was printed, the summary."""
    path, out = write(folder, *jobs, more=more, **settings), folder / "out"
    command = [sys.executable, "-m", "incast", "run", str(path), "--out", str(out), "--no-report"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=60, env={**os.environ, "COLUMNS": "160"}
    )
    summary = out / "summary.json"
    found = json.loads(summary.read_text()) if summary.exists() else {}
    return done.returncode, done.stdout + done.stderr, found


def program(name: str, host: str, text: str, more: str = "") -> str:
    """A job that runs Python."""
    command = shlex.join([sys.executable, "-IS", "-c", text])
    return f"name: {name}, hosts: {host}, command: {json.dumps(command)}{more}"


@real
def test_a_ping_takes_as_long_as_its_way_and_leaves_nothing(tmp_path: Path) -> None:
    code, output, summary = run(tmp_path, PING, SILENT)
    assert code == 0, output
    printed = (tmp_path / "out/guests/host0/ping.out").read_text()
    times = [float(found) for found in re.findall(r"time=([\d.]+) ms", printed)]
    # Twice two links of 5 ms, and what this machine is late.
    assert len(times) == 10
    assert 20 < min(times) < 22, times
    assert summary["lateness"]["packets"] == 20
    assert summary["lateness"]["p50_ns"] < 1e6
    assert "fingerprint" not in summary
    assert "on its clock" in output
    assert "Packets came" in output
    left = subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, text=True, check=False)
    assert left.stdout == ""


@real
def test_a_link_is_filled_and_no_packet_is_unaccounted_for(tmp_path: Path) -> None:
    code, output, _ = run(
        tmp_path,
        program("receives", "host1", RECEIVES),
        program("sends", "host0", SENDS, ", start: 300ms"),
        delay="100us",
    )
    assert code == 0, output
    guests = tmp_path / "out/guests"
    assert int((guests / "host1/receives.out").read_text()) == 4_000_000
    seconds = float((guests / "host0/sends.out").read_text())
    # 1448 bytes of content in 1538 on the wire.
    least = 4_000_000 * 8 / 100e6 * 1538 / 1448
    assert least < seconds < 1.25 * least
    ports = pl.read_parquet(tmp_path / "out/ports/*.parquet").to_dicts()
    sent = {port["port"]: port["sent_packets"] for port in ports}
    drops = sum(value for port in ports for key, value in port.items() if key.startswith("drops") and value)
    assert sent["host0:switch0"] + sent["host1:switch0"] == drops + sum(
        sent[f"switch0:host{n}"] for n in range(3)
    )


@real
def test_a_host_sees_its_own_network_andcan_not_change_this_machine(tmp_path: Path) -> None:
    mark = Path.home() / f"incast-{os.getpid()}"
    look = f"ls /sys/class/net; hostname; touch {mark}; touch /tmp/own && find /tmp -maxdepth 1 -type f"
    code, output, _ = run(tmp_path, f"name: look, hosts: host1, command: '{look}; ls /proc'")
    assert code == 0, output
    printed = (tmp_path / "out/guests/host1/look.out").read_text()
    assert printed.startswith("eth0\nlo\nhost1\n"), printed
    assert "Read-only file system" in printed
    assert printed.count("/tmp/") == 1
    assert "/tmp/own\n1\n" in printed, "its first process is number one"
    assert not mark.exists()


@real
def test_a_slower_network_is_slower(tmp_path: Path) -> None:
    began = time.monotonic()
    code, output, summary = run(tmp_path, PING.replace("-c 10", "-c 4"), SILENT, scale="5")
    assert code == 0, output
    assert time.monotonic() - began > 5 * 0.1 + 0.15
    times = re.findall(r"time=([\d.]+) ms", (tmp_path / "out/guests/host0/ping.out").read_text())
    assert 100 <= min(map(float, times)) < 110
    assert summary["sim_time_ps"] < 1e12


@real
def test_numbers_that_programs_print_are_figures_of_their_job(tmp_path: Path) -> None:
    reads = PING.replace("name: ping,", "name: ping, read: {pattern: 'time=([0-9.]+) ms', unit: ms},")
    more = "thresholds: [jobs.ping.read_p99 < 30ms, jobs.ping.readings == 10, jobs.ping.read_p50 < 1ms]"
    code, output, summary = run(tmp_path, reads, SILENT, more=more)
    assert code == 3, output
    job = summary["jobs"]["ping"]
    printed = (tmp_path / "out/guests/host0/ping.out").read_text()
    times = [float(found) for found in re.findall(r"time=([\d.]+) ms", printed)]
    assert job["read_mean_ps"] == pytest.approx(sum(times) / 10 * 1e9)
    assert job["read_max_ps"] == pytest.approx(max(times) * 1e9)
    assert "readings" not in summary["jobs"]["other"]
    assert [each["holds"] for each in summary["thresholds"]] == [True, True, False]
    assert re.search(r"read p99 +2\d(\.\d+)? ms", output), output


@pytest.mark.parametrize(
    ("read", "said"),
    [
        ("{pattern: 'time='}", "has 0 groups: one is needed"),
        ("{pattern: '(a)(b)'}", "has 2 groups"),
        ("{pattern: '(a'}", "is no regular expression"),
        ("{pattern: '(a)', unit: h}", "Allowed: s, ms, us, ns"),
    ],
)
def test_whatcan_not_be_read_is_refused(tmp_path: Path, read: str, said: str) -> None:
    path = write(tmp_path, PING.replace("name: ping,", f"name: ping, read: {read},"))
    done = subprocess.run(
        [sys.executable, "-m", "incast", "validate", str(path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "200"},
    )
    assert done.returncode == 2
    assert said in done.stdout + done.stderr


def test_whatever_a_program_prints_is_read_or_left(tmp_path: Path) -> None:
    job = {"name": "x", "work": {"hosts": ["a", "b"], "read": {"pattern": "t=(\\S+)", "unit": "us"}}}
    (tmp_path / "scenario.json").write_text(json.dumps({"jobs": [job, {"name": "y", "work": {}}]}))
    place = tmp_path / "guests/a"
    place.mkdir(parents=True)
    (place / "x.out").write_bytes(b"t=1 t=2.5\n\xff t=nan t=1e999 t=inf t=x t=\nt=" + b"9" * 70_000 + b"\n")
    assert readings.of_run(tmp_path) == {"x": ("_ps", [1e6, 2.5e6])}


@real
def test_late_packets_are_said_first_and_have_an_exit_code(tmp_path: Path) -> None:
    code, output, summary = run(tmp_path, PING, SILENT, late="1ns")
    assert code == 8, output
    assert output.lstrip().startswith("late: Packets came"), output
    assert summary["lateness"]["late"] == 20


@real
def test_a_host_that_crashes_comes_back(tmp_path: Path) -> None:
    code, output, _ = run(
        tmp_path,
        "name: counts, hosts: host1, command: 'echo begun; sleep 1.5; echo ended'",
        more="faults:\n  - {crash: host1, at: 500ms, for: 300ms}",
    )
    assert code == 0, output
    assert (tmp_path / "out/guests/host1/counts.out").read_text() == "begun\nbegun\nended\n"


@real
def test_ctrl_c_ends_all_and_keeps_what_was_measured(tmp_path: Path) -> None:
    path = write(tmp_path, PING.replace("-c 10", "-c 1000"), SILENT, until="60s")
    out = tmp_path / "out"
    command = [sys.executable, "-m", "incast", "run", str(path), "--out", str(out), "--no-report"]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 30
    printed = out / "guests/host0/ping.out"
    while time.monotonic() < until and not (printed.exists() and "time=" in printed.read_text()):
        time.sleep(0.05)
    running.send_signal(signal.SIGTERM)
    assert running.wait(10) == 130
    assert json.loads((out / "summary.json").read_text())["lateness"]["packets"] > 0
    left = subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, text=True, check=False)
    assert left.stdout == ""


@pytest.fixture
def no_htcp() -> None:
    """A kernel without H-TCP."""
    if not kernel.needs_bpf("htcp"):
        pytest.skip("this kernel has H-TCP itself")


@pytest.fixture(scope="module")
def bpf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Congestion controls as BPF programs, just built."""
    if not all(map(kernel.needs_bpf, ("dctcp", "htcp"))):
        pytest.skip("this kernel has DCTCP or H-TCP itself")
    folder = tmp_path_factory.mktemp("bpf")
    build = [sys.executable, "packaging/bpf.py", str(folder)]
    built = subprocess.run(
        build, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False, timeout=120
    )
    if "are needed: apt-get" in built.stderr or "does not describe" in built.stderr:
        pytest.skip(built.stderr.strip())
    assert built.returncode == 0, built.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(kernel.BPF_VARIABLE, str(folder))
        yield


def incast_of(
    folder: Path, congestion: str, queue: str, *options: str
) -> tuple[list[list[str]], dict[str, Any]]:
    """What each sender of four to one tells, and the port to the receiver."""
    folder.mkdir()
    receives = program("receives", "host4", TAKES)
    sends = program("sends", "[host0, host1, host2, host3]", TELLS, ", start: 300ms")
    path = folder / "incast.yaml"
    path.write_text(INCAST.format(queue=queue, congestion=congestion, receives=receives, sends=sends))
    command = [sys.executable, "-m", "incast", "run", str(path), "--out", str(folder / "out"), "--no-report"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    told = [(folder / f"out/guests/host{n}/sends.out").read_text().split() for n in range(4)]
    ports = pl.read_parquet(folder / "out/ports/*.parquet").filter(pl.col("port") == "switch0:host4")
    assert "incast_" not in AVAILABLE.read_text()
    return told, ports.row(0, named=True)


def half_waited(out: Path) -> int:
    """What half of the packets to the receiver waited at most: a stop of this machine makes only some wait."""
    waits = pl.read_parquet(out / "waits/*.parquet").filter(pl.col("port") == "switch0:host4").sort("from_ps")
    return int(waits.filter(pl.col("packets").cum_sum() >= pl.col("packets").sum() / 2)["to_ps"][0])


@real
@pytest.mark.usefixtures("bpf")
def test_dctcp_that_the_kernel_lacks_keeps_the_queue_short(tmp_path: Path) -> None:
    marks = "queue: {kind: step, threshold: 20kB}"
    told, port = incast_of(tmp_path / "dctcp", "dctcp", marks)
    assert [each[1:] for each in told] == [["incast_dctcp", "incast_dctcp", "1"]] * 4
    assert (port["drops_tail"], port["marks"] > 0) == (0, True)
    reno, full = incast_of(tmp_path / "reno", "reno", "queue: {kind: tail-drop}")
    # A packet that comes late may be sent again in vain, by a tail loss probe.
    again, lost = (sum(int(each[0]) for each in senders) for senders in (told, reno))
    assert again <= 8 < lost, (told, reno)
    short, long = half_waited(tmp_path / "dctcp/out"), half_waited(tmp_path / "reno/out")
    assert short < long / 4, (short, long, port, full)


@real
@pytest.mark.usefixtures("bpf")
def test_dctcp_without_ecn_at_the_other_end_is_reno(tmp_path: Path) -> None:
    """Marks would come back to nobody, so its packets can't be marked: they are dropped."""
    other = "host_overrides=[{match: host4, tcp: {congestion: reno, ecn: off}}]"
    told, port = incast_of(
        tmp_path / "mixed", "dctcp", "queue: {kind: step, threshold: 20kB}", "--set", other
    )
    assert [each[1:] for each in told] == [["reno", "incast_dctcp", "1"]] * 4
    assert port["marks"] <= 4  # SYNs, from before the answer
    assert port["drops_early"] > 0


@real
@pytest.mark.usefixtures("bpf")
def test_htcp_that_the_kernel_lacks_sends_all(tmp_path: Path) -> None:
    told, port = incast_of(tmp_path / "htcp", "htcp", "queue: {kind: tail-drop}")
    assert [each[1:] for each in told] == [["incast_htcp", "incast_htcp", "2"]] * 4
    # It fills the buffer: only losses shrink its window.
    assert port["queue_max_bytes"] > 150_000


@real
@pytest.mark.usefixtures("bpf")
def test_runs_side_by_side_have_names_of_their_own() -> None:
    host = {"tcp": {"congestion": "dctcp", "dctcp_shift": 3, "htcp_rtt_scaling": True}}
    with congestion.registered([host]) as one:
        with congestion.registered([host, {"tcp": {**host["tcp"], "congestion": "htcp"}}]) as other:
            assert [*one, *other] == [("dctcp", 3, "incast_dctcp"), ("dctcp", 3, "incast_dctcp2"),
                                      ("htcp", 1, "incast_htcp")]  # fmt: skip
        assert "incast_dctcp2" not in AVAILABLE.read_text().split()
        assert "incast_dctcp" in AVAILABLE.read_text().split()
    assert "incast_" not in AVAILABLE.read_text()


@real
@pytest.mark.usefixtures("bpf")
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_nothing_registered(tmp_path: Path, end: int) -> None:
    path = write(tmp_path, "name: waits, hosts: host0, command: sleep 15")
    command = [sys.executable, "-m", "incast", "run", str(path), "--set", "host.tcp.congestion=dctcp"]
    running = subprocess.Popen(
        [*command, "--out", str(tmp_path / "out"), "--no-report"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def becomes(there: bool) -> bool:
        until = time.monotonic() + 20
        while time.monotonic() < until and ("incast_dctcp" in AVAILABLE.read_text()) is not there:
            time.sleep(0.05)
        return ("incast_dctcp" in AVAILABLE.read_text()) is there

    try:
        assert becomes(True)
    finally:
        running.send_signal(end)
        running.wait(10)
    assert becomes(False)


@pytest.mark.usefixtures("no_htcp")
def test_a_congestion_control_that_is_not_built_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(kernel.BPF_VARIABLE, str(tmp_path))
    said = kernel.not_allowed("htcp")
    assert "htcp is not in this machine's kernel" in said
    assert said.endswith("make bpf builds it")


@pytest.mark.usefixtures("no_htcp")
def test_a_program_that_is_none_fails_the_run_and_its_resultcan_be_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(kernel.BPF_VARIABLE, str(tmp_path))
    (tmp_path / "htcp.bpf.o").write_bytes(b"no program")
    path = write(tmp_path, PING)
    command = [sys.executable, "-m", "incast", "run", str(path), "--out", str(tmp_path / "out"), "--force"]
    for _ in range(2):
        done = subprocess.run(
            [*command, "--set", "host.tcp.congestion=htcp"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 4, done.stderr
        assert "is no congestion control of this version" in done.stderr


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("host.kernel.cpu_rate=0.5", "the processor is this machine's"),
        ("host.kernel.moderation=20us", "no network card interrupts"),
        ("host.kernel.receive_ring=64", "there is no network card"),
        ("host.kernel.emulated=true", "incast run --live"),
        ("host.kernel.tso=true", "the kernel cuts segments"),
        ("clock.scale=0.5", "greater than or equal to 1"),
        ("jobs=[{name: x, kind: bulk, pairs: [[host0, host1]], size: 1kB}]", "nothing needs it"),
    ],
)
def test_what_does_not_go_with_the_clock_is_refused(tmp_path: Path, change: str, said: str) -> None:
    path = write(tmp_path, PING)
    command = [sys.executable, "-m", "incast", "validate", str(path), "--set", change]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "200"}
    )
    assert done.returncode == 2
    assert said in done.stdout + done.stderr


@can
@pytest.mark.parametrize("name", ["kernel.pid_max", "net.ipv4.nonsense"])
def test_a_sysctl_that_a_hostcan_not_have_is_refused(tmp_path: Path, name: str) -> None:
    code, output, _ = run(
        tmp_path, PING, more=f"host_overrides: [{{match: host0, kernel: {{sysctl: {{{name}: '77777'}}}}}}]"
    )
    assert code == 4
    assert f"host0: the kernel refuses {name} = 77777" in output
    assert Path("/proc/sys/kernel/pid_max").read_text() != "77777\n"


def test_nobody_types_commands_on_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "incast", "emu", "shell", str(write(tmp_path, PING)), "host0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, input="")
    assert done.returncode != 0
    assert "time stands still" in done.stderr
