"""Programs on emulated hosts: refused where there is no kernel, exact where there is one."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic import ValidationError
from typer.testing import CliRunner

from helpers import until
from incast.cli.app import app
from incast.emu import kernel
from incast.lab.host import Kernel

SCENARIO = """
name: emu
topology: {{kind: single-switch, hosts: 2, host_link: {{rate: 1Gbps, delay: 10us}}}}
host: {{kernel: {{memory: 64MiB, moderation: {moderation}, sysctl: {sysctl}, tso: {tso}}}}}
jobs:
{jobs}
measure: {{capture: ["host0:switch0"]}}
until: 20s
seed: {seed}
"""
JOBS = """name: emu
topology: {kind: single-switch, hosts: 5, host_link: {rate: 1Gbps, delay: 10us}}
host: {kernel: {emulated: true}}
jobs:
  - {name: answers, kind: incast, senders: "host[0-3]", receiver: host4, size: 256kB, start: 100ms}
  - {name: pairs, kind: bulk, pairs: [[host0, host1]], size: 1MB}
  - kind: rpc
    name: calls
    start: 300ms
    clients: host0
    servers: "host[1-3]"
    request: 100B
    reply: 20kB
    arrivals: {kind: closed}
    calls: 100
measure: {}
until: 1s
"""
WINDOW = """name: window
topology:
  kind: dumbbell
  left: 1
  right: 1
  host_link: {rate: 10Gbps, delay: 1us}
  bottleneck: {rate: 1Gbps, delay: 10us}
switch: {buffer: {kind: static, limit: 1MB}}
host: {tcp: {congestion: reno, ecn: "off"}, kernel: {emulated: true, gso: false}}
jobs:
  - {name: one, kind: bulk, pairs: [[left0, right0]], size: 500kB}
measure: {interval: 50us, flows: true}
until: 1s
choices:
  simulated: {host: {kernel: {emulated: false}}}
  linux: {}
"""
built = pytest.mark.skipif(
    kernel.find() is None, reason="the kernel of emulated hosts is not there: make uml"
)


KERNEL = "time-travel=ext: time travel: queues in the page"
"""What a kernel of emulated hosts has in its program."""
OTHER = "name: other, hosts: host1, command: 'true', done: started"


def written(jobs: str, seed: int = 1, moderation: str = "0s", sysctl: str = "{}", tso: bool = False) -> str:
    """The scenario with these lines of jobs."""
    cuts = str(tso).lower()
    return SCENARIO.format(jobs=jobs, seed=seed, moderation=moderation, sysctl=sysctl, tso=cuts)


def fake_kernel(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Takes a file with this text for the kernel."""
    linux = folder / "linux"
    linux.write_text(text)
    linux.chmod(0o755)
    monkeypatch.setenv(kernel.VARIABLE, str(linux))


def run(
    folder: Path, *jobs: str, seed: int = 1, moderation: str = "0s", sysctl: str = "{}", tso: bool = False
) -> tuple[int, str, Path]:
    """Exit code, what was printed, the result's folder."""
    scenario, out = folder / "emu.yaml", folder / f"out-{seed}"
    lines = "\n".join(f"  - {{kind: program, {job}}}" for job in jobs)
    scenario.write_text(written(lines, seed, moderation, sysctl, tso))
    done = CliRunner().invoke(
        app, ["run", str(scenario), "--out", str(out), "--force"], env={"COLUMNS": "160"}
    )
    return done.exit_code, done.output, out


def captured(path: Path) -> list[int]:
    """The times of a capture's packets, in nanoseconds (pcapng's enhanced packet blocks)."""
    content, at, times = path.read_bytes(), 0, []
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        if kind == 6:
            high, low = struct.unpack_from("<II", content, at + 12)
            times.append(high << 32 | low)
        at += length
    return times


def commands(out: Path) -> list[dict[str, Any]]:
    return pl.read_parquet(out / "commands").sort("job").to_dicts()


def test_without_a_kernel_a_program_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kernel.VARIABLE, str(tmp_path / "none"))
    code, said, out = run(tmp_path, "name: a, hosts: host0, command: 'true'")
    assert code == 2
    assert re.search(r"emu\.yaml:6: jobs\[0\]\.kind: .*which is no file: make uml builds it", said)
    assert not out.exists()


def test_another_program_is_no_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kernel.VARIABLE, "/bin/true")
    code, said, _ = run(tmp_path, "name: a, hosts: host0, command: 'true'")
    assert code == 2
    assert "/bin/true is no kernel of emulated hosts" in said


def test_a_kernel_that_may_not_trace_says_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_kernel(
        tmp_path, monkeypatch, f"#!/bin/sh\n# {KERNEL}\necho 'ptrace: Operation not permitted' >&2; exit 1\n"
    )
    code, said, out = run(tmp_path, "name: a, hosts: host0, command: 'true'")
    assert code == 4
    assert "host0: the kernel may not trace its programs by ptrace here" in said
    assert "not permitted" in (out / "guests" / "host0" / "console").read_text()


@pytest.mark.parametrize(
    ("job", "faults", "reason"),
    [
        ("class: 3", "[]", "jobs[0].class: the precedence in a packet's own DS field is its class"),
        (
            "done: exited",
            "[{at: 1ms, slow: {host: host0, speed: 0.5}}]",
            "faults[0]: computing takes no time on host0: it needs host.kernel.cpu_rate",
        ),
    ],
)
def test_what_has_no_effect_on_an_emulated_host_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, job: str, faults: str, reason: str
) -> None:
    fake_kernel(tmp_path, monkeypatch, KERNEL)
    scenario = tmp_path / "emu.yaml"
    jobs = f"  - {{kind: program, name: a, hosts: host0, command: 'true', {job}}}"
    scenario.write_text(written(jobs) + f"faults: {faults}\n")
    done = CliRunner().invoke(app, ["run", str(scenario), "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert reason in done.output


@pytest.mark.parametrize(
    ("change", "line", "reason"),
    [
        ({"until: 1s\n": ""}, "", "until: is required: emulated hosts are never idle"),
        (
            {
                "host: {kernel: {emulated: true}}": "host_overrides: [{match: host1, kernel: {emulated: true}}]"
            },
            "emu.yaml:5: ",
            "jobs[0]: host1 is emulated and host0 is not",
        ),
        ({"measure": "faults: [{at: 1ms, crash: host0}]\nmeasure"}, "", "faults[0]: host0 is emulated: of"),
    ],
)
def test_emulated_jobs_that_cannot_be_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, str], line: str, reason: str
) -> None:
    fake_kernel(tmp_path, monkeypatch, KERNEL)
    text = JOBS
    for old, new in change.items():
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "emu.yaml").write_text(text)
    done = CliRunner().invoke(app, ["validate", str(tmp_path / "emu.yaml")], env={"COLUMNS": "160"})
    assert done.exit_code == 2
    assert line + reason in done.output


def test_a_kernel_of_an_earlier_incast_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_kernel(tmp_path, monkeypatch, "time-travel=ext:")
    (tmp_path / "emu.yaml").write_text(JOBS)
    done = CliRunner().invoke(app, ["validate", str(tmp_path / "emu.yaml")], env={"COLUMNS": "160"})
    assert done.exit_code == 2
    assert "emu.yaml:3: host.kernel.emulated: " in done.output
    assert "was built for an earlier incast: remove it" in done.output


def test_emulated_jobs_need_a_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kernel.VARIABLE, str(tmp_path / "none"))
    (tmp_path / "emu.yaml").write_text(JOBS)
    done = CliRunner().invoke(app, ["run", str(tmp_path / "emu.yaml")], env={"COLUMNS": "160"})
    assert done.exit_code == 2
    assert re.search(r"emu\.yaml:3: host\.kernel\.emulated: .*make uml builds it", done.output)


def test_values_of_sysctl_may_be_whole_numbers() -> None:
    found = Kernel.model_validate({"sysctl": {"net.core.rmem_max": 1_000_000, "net.ipv4.tcp_rmem": "1 2 3"}})
    assert found.sysctl == {"net.core.rmem_max": "1000000", "net.ipv4.tcp_rmem": "1 2 3"}
    with pytest.raises(ValidationError):
        Kernel.model_validate({"sysctl": {"net.ipv4.tcp_sack": True}})


@built
def test_jobs_on_the_kernel_do_what_simulated_ones_do(tmp_path: Path) -> None:
    scenario, out = tmp_path / "emu.yaml", tmp_path / "out"
    simulated = "choices:\n  simulated: {host: {kernel: {emulated: false}}}\n  linux: {}\n"
    scenario.write_text(JOBS + simulated)
    done = CliRunner().invoke(app, ["run", str(scenario), "--out", str(out)])
    assert done.exit_code == 0, done.output
    ours, theirs = (
        pl.read_parquet(out / choice / "flows").sort("job", "from", "to") for choice in ("simulated", "linux")
    )
    same = ["job", "from", "to", "outcome"]
    assert ours.select(same).equals(theirs.select(same))
    assert ours["bytes"].sum() == theirs["bytes"].sum()
    begun = (theirs.filter(pl.col("job") == "answers")["start_ps"] - 100 * 10**9).to_list()
    assert all(0 <= late < 10**7 for late in begun), "what waited for 100 ms begins within 10 us"
    for name in ours["job"].unique().to_list():
        times = [
            frame.filter(pl.col("job") == name).select((pl.col("end_ps") - pl.col("start_ps")).mean()).item()
            for frame in (ours, theirs)
        ]
        assert times[1] == pytest.approx(times[0], rel=0.05), name
    jobs = pl.read_parquet(out / "linux" / "jobs")
    assert jobs["outcome"].cast(pl.String).to_list() == ["finished"] * 3
    assert json.loads((out / "linux" / "summary.json").read_text())["end"] == "finished"


@built
def test_the_windows_of_a_flow_are_those_of_the_kernel(tmp_path: Path) -> None:
    scenario, out = tmp_path / "emu.yaml", tmp_path / "out"
    scenario.write_text(WINDOW)
    done = CliRunner().invoke(app, ["run", str(scenario), "--out", str(out)])
    assert done.exit_code == 0, done.output
    ours, theirs = (
        # The kernel's samples come less than a microsecond later.
        pl.read_parquet(out / choice / "flows_series").select(
            pl.col("time_ps") // 50_000_000, pl.col("cwnd_bytes", "acked_bytes").cast(pl.Int64)
        )
        for choice in ("simulated", "linux")
    )
    # The greeting shares the first segment, so the kernel's segments end that much earlier in the content.
    theirs = theirs.with_columns(pl.col("acked_bytes") + 44)
    both = ours.join(theirs, on="time_ps")
    assert len(both) >= min(len(ours), len(theirs)) - 2 >= 40
    # A slow start from 10 to 354 segments. Two may be acknowledged together on one side and not on the other.
    assert both.select(pl.col("cwnd_bytes").max() > 350 * 1448).item()
    for column in ("cwnd_bytes", "acked_bytes"):
        assert both.select((pl.col(column) - pl.col(f"{column}_right")).abs().max() <= 2 * 1448).item()


@built
def test_what_an_unfinished_job_has_done_is_kept(tmp_path: Path) -> None:
    scenario, out = tmp_path / "emu.yaml", tmp_path / "out"
    scenario.write_text(JOBS.replace("until: 1s", "until: 310ms"))
    done = CliRunner().invoke(app, ["run", str(scenario), "--out", str(out)])
    assert done.exit_code == 7, done.output
    flows = pl.read_parquet(out / "flows")
    assert len(flows) >= 4
    assert set(flows["outcome"].cast(pl.String)) <= {"finished", "unfinished"}


def test_without_an_end_a_program_is_refused(tmp_path: Path) -> None:
    scenario = tmp_path / "emu.yaml"
    jobs = "  - {kind: program, name: a, hosts: host0, command: 'true'}"
    text = written(jobs).replace("until: 20s\n", "")
    scenario.write_text(text)
    done = CliRunner().invoke(app, ["run", str(scenario), "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert "until: is required: a may never end" in done.output


@built
def test_programs_heed_ctrl_c_as_anywhere(tmp_path: Path) -> None:
    code, said, out = run(tmp_path, "name: a, hosts: host0, command: 'kill -INT $$; echo it goes on'", OTHER)
    assert code == 7, said
    assert (out / "guests" / "host0" / "a.out").read_text() == ""


@built
def test_a_ping_takes_what_arithmetic_says(tmp_path: Path) -> None:
    code, said, out = run(tmp_path, "name: ping, hosts: host0, command: ping -c 3 10.0.0.2", OTHER)
    assert code == 0, said
    # 98 bytes and what Ethernet adds, on links of 1 Gb/s and 10 us.
    link_ns = 10_000 + (84 + 38) * 8
    there, back = (captured(out / "captures" / "host0-switch0.pcapng")[way::2] for way in (0, 1))
    # Each is shown when it begins to leave: the answer three links later.
    assert [after - before for before, after in zip(there, back, strict=True)] == [3 * link_ns] * 3
    # ping(8) reads its clock in whole microseconds.
    printed = (out / "guests" / "host0" / "ping.out").read_text()
    times_ms = [float(found) for found in re.findall(r"time=([0-9.]+) ms", printed)]
    assert len(times_ms) == 3
    assert all(abs(4 * link_ns - time_ms * 1e6) < 1000 for time_ms in times_ms)
    ports = pl.read_parquet(out / "ports").filter(pl.col("port") == "host0:switch0")
    assert commands(out)[1]["exit_code"] == 0
    assert ports["sent_packets"].sum() == 3
    # Nothing of the kernels is left, here or at home.
    assert sorted(each.name for each in (out / "guests" / "host0").iterdir()) == [
        "console",
        "hosts",
        "init",
        "ping.out",
        "resolv.conf",
    ]
    assert not (Path.home() / ".uml").exists()


@built
def test_a_program_that_fails_or_does_not_exit_is_told(tmp_path: Path) -> None:
    code, said, out = run(
        tmp_path,
        "name: fails, hosts: host0, command: exit 3",
        "name: waits, hosts: host1, command: sleep 100",
    )
    assert code == 7
    assert "host0 exited with 3" in said
    assert "host1 has not exited" in said
    assert [(each["job"], each["exit_code"]) for each in commands(out)] == [("fails", 3), ("waits", None)]


@built
def test_programs_start_when_they_are_told_to(tmp_path: Path) -> None:
    code, said, out = run(
        tmp_path,
        "name: server, hosts: host1, command: iperf3 -s, done: started",
        "name: late, hosts: host0, start: 1500ms, command: date +%s.%N",
    )
    assert code == 0, said
    assert abs(float((out / "guests" / "host0" / "late.out").read_text()) - 1_577_836_801.5) < 0.001
    late, server = commands(out)
    assert (server["end_ps"], server["exit_code"]) == (None, None)
    assert 0 <= late["end_ps"] - late["start_ps"] < 10**9


@built
def test_time_passes_for_a_program_that_spins_until_another_does_something(tmp_path: Path) -> None:
    spins = "timeout 0.003 sh -c 'while :; do :; done'; [ $? = 124 ]"
    code, said, _ = run(tmp_path, f'name: spins, hosts: host0, command: "{spins}"')
    assert code == 0, said


@built
def test_a_program_that_spins_for_ever_is_named(tmp_path: Path) -> None:
    scenario = tmp_path / "emu.yaml"
    scenario.write_text(written("  - {kind: program, name: x, hosts: host0, command: 'while :; do :; done'}"))
    patience = ["--set", "host.kernel.patience=2s", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, ["run", str(scenario), *patience], env={"COLUMNS": "160"})
    assert done.exit_code == 4, done.output
    assert "host0: computed for 2 s without waiting" in done.output


@built
def test_hosts_that_are_stopped_and_continued_go_on(tmp_path: Path) -> None:
    """As a batch system does with all processes of a job. A kernel has its programs stopped most of the time."""
    scenario, out = tmp_path / "emu.yaml", tmp_path / "out"
    counts = "i=0; while [ $i -lt 150 ]; do i=$((i+1)); /bin/true || exit; done; echo $i"
    scenario.write_text(written(f"  - {{kind: program, name: counts, hosts: host0, command: '{counts}'}}"))
    command = [sys.executable, "-m", "incast", "run", str(scenario), "--out", str(out), "--no-report"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        threads = Path(f"/proc/{process.pid}/task")
        until((out / "guests/host0/counts.out").exists, process)
        while process.poll() is None:
            for each in (signal.SIGSTOP, signal.SIGCONT):
                # Each kernel leads the group of its programs' processes.
                with contextlib.suppress(OSError):
                    for children in threads.glob("*/children"):
                        for guest in children.read_text().split():
                            os.killpg(int(guest), each)
                time.sleep(0.01)
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert (out / "guests/host0/counts.out").read_text() == "150\n"


def test_a_run_that_is_ended_while_hosts_boot_is_a_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_kernel(tmp_path, monkeypatch, f"#!/bin/sh\n# {KERNEL}\ntouch $0.boots\nexec sleep 600\n")
    scenario = tmp_path / "emu.yaml"
    scenario.write_text(written("  - {kind: program, name: x, hosts: host0, command: 'true'}"))
    command = [sys.executable, "-m", "incast", "run", str(scenario), "--out", str(tmp_path / "out")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        until((tmp_path / "linux.boots").exists, process)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "Interrupted: the result holds what was measured until then." in said
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["end"] == "interrupted"


@built
def test_hosts_know_each_other_by_name_and_nobody_else(tmp_path: Path) -> None:
    code, said, out = run(
        tmp_path,
        "name: ping, hosts: host0, command: ping -c 1 host1",
        "name: stranger, hosts: host1, command: '! timeout 1 getent hosts nobody.example'",
    )
    assert code == 0, said
    assert "1 received" in (out / "guests" / "host0" / "ping.out").read_text()


@built
def test_a_program_beside_its_scenario_is_seen(tmp_path: Path) -> None:
    # Which is in /tmp, where hosts have a folder of their own.
    folder = tmp_path / "it's here"
    folder.mkdir()
    (folder / "own.sh").write_text("cd $1 && touch own || echo kept; echo mine > /tmp/own && cat /tmp/own")
    command = json.dumps(f"sh {shlex.quote(str(folder / 'own.sh'))} {shlex.quote(str(folder))}")
    code, said, out = run(folder, f"name: own, hosts: host0, command: {command}")
    assert code == 0, said
    assert "kept\nmine\n" in (out / "guests" / "host0" / "own.out").read_text()
    assert not (folder / "own").exists()


@built
def test_what_is_to_be_kept_has_a_place_that_hides_no_folder(tmp_path: Path) -> None:
    # People have their disks in /mnt.
    code, said, out = run(tmp_path, "name: a, hosts: host0, command: 'ls -A /mnt > /run/incast/kept'")
    assert code == 0, said
    kept = (out / "guests" / "host0" / "kept").read_text()
    assert sorted(kept.splitlines()) == sorted(each.name for each in Path("/mnt").iterdir())


@built
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_vector_registers_are_a_programs_own(tmp_path: Path) -> None:
    source = json.dumps(Path(__file__).with_name("emu_registers.c").read_text())
    command = """printf %s "$SOURCE" | cc -O1 -pthread -x c -o /tmp/registers - && /tmp/registers"""
    job = f"name: registers, hosts: host0, command: {json.dumps(command)}, environment: {{SOURCE: {source}}}"
    code, said, out = run(tmp_path, job)
    assert (out / "guests" / "host0" / "registers.out").read_text() == "0 wrong\n"
    assert code == 0, said
    assert re.fullmatch(r"\d+\.\d+\S*", json.loads((out / "summary.json").read_text())["linux"])


@built
def test_a_kernel_that_refuses_a_setting_ends_the_run(tmp_path: Path) -> None:
    code, said, _ = run(tmp_path, "name: a, hosts: host0, command: 'true'", sysctl="{net.ipv4.tcp_warp: '9'}")
    assert code != 0
    assert "host0: the kernel refuses net.ipv4.tcp_warp = 9" in said


@built
def test_a_gigabit_is_filled_and_equal_seeds_give_equal_bytes(tmp_path: Path) -> None:
    jobs = (
        "name: server, hosts: host1, command: iperf3 -s, done: started",
        "name: client, hosts: host0, start: 10ms, command: iperf3 -c 10.0.0.2 -n 4M --json",
    )
    captures = []
    for folder, seed in (("one", 1), ("two", 1), ("three", 2)):
        (tmp_path / folder).mkdir()
        code, said, out = run(tmp_path / folder, *jobs, seed=seed)
        assert code == 0, said
        captures.append((out / "captures" / "host0-switch0.pcapng").read_bytes())
        assert len(captures[-1]) > 4 << 20, "it has the contents"
        sent = json.loads((out / "guests" / "host0" / "client.out").read_text())["end"]["sum_received"]
        # 1448 of 1538 bytes of a full segment on the wire; the last ones are on their way for a moment.
        assert sent["bits_per_second"] == pytest.approx(1e9 * 1448 / 1538, rel=0.02)
    assert captures[0] == captures[1] != captures[2]


@built
@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_a_card_that_cuts_segments_sends_what_the_kernel_would(tmp_path: Path) -> None:
    jobs = (
        "name: server, hosts: host1, command: iperf3 -s, done: started",
        "name: client, hosts: host0, start: 10ms, command: iperf3 -c 10.0.0.2 -n 4M --json",
    )
    sent = {}
    for tso in (False, True):
        (tmp_path / str(tso)).mkdir()
        code, said, out = run(tmp_path / str(tso), *jobs, tso=tso)
        assert code == 0, said
        client = json.loads((out / "guests" / "host0" / "client.out").read_text())["end"]
        assert client["sum_received"]["bits_per_second"] == pytest.approx(1e9 * 1448 / 1538, rel=0.02)
        capture = out / "captures" / "host0-switch0.pcapng"
        fields = ["ip.len", "ip.checksum.status", "tcp.checksum.status", "tcp.seq_raw", "tcp.len"]
        read = ["tshark", "-r", str(capture), "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"]
        done = subprocess.run(
            [
                *read,
                "-Y",
                "ip.src == 10.0.0.1 && tcp.len > 0",
                "-T",
                "fields",
                *(f"-e{each}" for each in fields),
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        packets = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
        assert len(packets) > 2500
        assert all(size <= 1500 and (ip, tcp) == (1, 1) for size, ip, tcp, _, _ in packets)
        first = min(packet[3] for packet in packets[:10])
        sent[tso] = sum(length for *_, length in {(seq - first, length) for _, _, _, seq, length in packets})
    # iperf3 drops what waits in its socket when it has written all.
    assert sent[True] == pytest.approx(sent[False], rel=0.05)


@built
def test_moderated_interrupts_hand_over_more_at_once(tmp_path: Path) -> None:
    acknowledgements = []
    for moderation in ("0s", "50us"):
        jobs = (
            "name: server, hosts: host1, command: iperf3 -s, done: started",
            "name: client, hosts: host0, start: 10ms, command: iperf3 -c 10.0.0.2 -n 4M --json",
        )
        code, said, out = run(tmp_path, *jobs, moderation=moderation)
        assert code == 0, said
        sent = json.loads((out / "guests" / "host0" / "client.out").read_text())["end"]["sum_received"]
        assert sent["bits_per_second"] == pytest.approx(1e9 * 1448 / 1538, rel=0.02)
        back = pl.read_parquet(out / "ports").filter(pl.col("port") == "host1:switch0")
        acknowledgements.append(int(back["sent_packets"].sum()))
    # Four full packets come in 50 us, and are acknowledged as one.
    assert acknowledgements[1] < 0.6 * acknowledgements[0]


@built
def test_what_the_receive_ring_has_no_room_for_is_lost(tmp_path: Path) -> None:
    jobs = (
        "name: server, hosts: host1, command: iperf3 -s, done: started",
        "name: client, hosts: host0, start: 10ms, command: iperf3 -c 10.0.0.2 -n 1M --json",
    )
    for ring, is_lossy in ((8, False), (2, True)):
        code, said, out = run(tmp_path, *jobs, moderation=f"50us, receive_ring: {ring}")
        assert code == 0, said
        ended = json.loads((out / "guests" / "host0" / "client.out").read_text())["end"]
        lost = dict(
            pl.read_parquet(out / "hosts").select(pl.col("host").cast(pl.String), "drops_no_port").rows()
        )
        assert (ended["sum_sent"]["retransmits"] > 0) == (lost["host1"] > 0) == is_lossy


@built
def test_computing_takes_time_where_a_processor_has_a_speed(tmp_path: Path) -> None:
    """A tenth of the speed, ten times as long; the answer to a ping waits for a processor that computes."""
    compute = "date +%s%N; sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'; date +%s%N"
    (tmp_path / "emu.yaml").write_text(f"""name: emu
topology: {{kind: single-switch, hosts: 2, host_link: {{rate: 1Gbps, delay: 10us}}}}
jobs:
  - {{kind: program, name: compute, hosts: host0, start: 1s, command: "{compute}"}}
  - {{kind: program, name: ping, hosts: host1, start: 1050ms, command: "ping -c 1 -W 20 host0"}}
until: 30s
choices:
  free: {{}}
  same: {{host: {{kernel: {{cpu_rate: 1}}}}}}
  tenth: {{host: {{kernel: {{cpu_rate: 0.1}}}}}}
  slowed: {{host: {{kernel: {{cpu_rate: 1}}}}, faults: [{{at: 0s, slow: {{host: host0, speed: 0.1}}}}]}}
""")
    out = tmp_path / "out"
    done = CliRunner().invoke(
        app, ["run", str(tmp_path / "emu.yaml"), "--out", str(out)], env={"COLUMNS": "160"}
    )
    assert done.exit_code == 0, done.output
    assert "On emulated hosts computing takes no time (free)" in done.output
    assert "takes processor time: two runs differ (same, tenth, slowed)" in done.output

    def lasted(choice: str, job: str) -> float:
        row = next(row for row in commands(out / choice) if row["job"] == job)
        return float(row["end_ps"] - row["start_ps"]) / 1e12

    clock = {}
    for choice in ("free", "same", "tenth", "slowed"):
        begun, ended = map(int, (out / choice / "guests/host0/compute.out").read_text().split())
        clock[choice] = (ended - begun) / 1e9
    assert clock["free"] < 0.001
    assert 0.01 < clock["same"] < 2
    assert clock["same"] == pytest.approx(lasted("same", "compute"), rel=0.5)
    # Processor time varies on a busy machine.
    for slow in ("tenth", "slowed"):
        assert 4 < clock[slow] / clock["same"] < 25
    # It asks while the other host computes until later.
    assert lasted("tenth", "ping") > 0.5 * (clock["tenth"] - 0.05)


@built
def test_a_host_that_crashes_boots_again(tmp_path: Path) -> None:
    """Its programs begin again, in the same files; what is sent to it meanwhile is lost."""
    (tmp_path / "emu.yaml").write_text("""name: emu
topology: {kind: single-switch, hosts: 2, host_link: {rate: 1Gbps, delay: 10us}}
jobs:
  - {kind: program, name: server, hosts: host0, done: started, command: "date +%s.%N; sleep 60"}
  - {kind: program, name: random, hosts: host0, done: started, command: "head -c 8 /dev/urandom | od -An -tx8"}
  - {kind: program, name: ping, hosts: host1, start: 1s, command: "ping -i 0.1 -c 30 -W 0.05 host0 || true"}
faults: [{at: 2050ms, crash: host0, for: 1s}]
until: 10s
""")
    results = []
    for name in ("first", "second"):
        out = tmp_path / name
        done = CliRunner().invoke(app, ["run", str(tmp_path / "emu.yaml"), "--out", str(out)])
        assert done.exit_code == 0, done.output
        printed = {
            job: (out / "guests" / host / f"{job}.out").read_text()
            for job, host in (("server", "host0"), ("random", "host0"), ("ping", "host1"))
        }
        results.append(printed)
        assert pl.read_parquet(out / "events")["what"].to_list() == ["crash", "restart"]
    assert results[0] == results[1]
    began = [float(line) % 1_577_836_800 for line in results[0]["server"].splitlines()]
    assert began == pytest.approx([0, 3.05], abs=0.01)
    first, again = results[0]["random"].split()
    assert first != again
    # Sent every tenth of a second; nine between 2.05 and 3.05 s, since each is sent a little late.
    assert "30 packets transmitted, 21 received" in results[0]["ping"]
    assert (tmp_path / "first/guests/host0/console").read_text().count("ended 1 0") == 2


@built
def test_ctrl_c_does_not_wait_for_a_host_that_computes(tmp_path: Path) -> None:
    scenario, out = tmp_path / "emu.yaml", tmp_path / "out"
    jobs = "  - {kind: program, name: spins, hosts: host0, command: 'echo begun; while :; do :; done'}"
    scenario.write_text(written(jobs))
    command = [sys.executable, "-m", "incast", "run", str(scenario), "--out", str(out), "--no-report"]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    printed, until = out / "guests/host0/spins.out", time.monotonic() + 30
    while time.monotonic() < until and not (printed.exists() and printed.read_text()):
        time.sleep(0.05)
    running.send_signal(signal.SIGTERM)
    assert running.wait(10) == 130
    assert json.loads((out / "summary.json").read_text())["end"] == "interrupted"
