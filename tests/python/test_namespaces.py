"""The networks of namespaces that benchmarks and tests of real programs use: rates, clean-up."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from testkit import namespaces
from testkit.namespaces import SWITCH, Link, Network, star

REASON = namespaces.unavailable()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))

RATE = 20_000_000
SENT = 400_000
SINK = """
import socket
with socket.create_server(("", 9)) as server:
    print("ready", flush=True)
    stream = server.accept()[0]
    while stream.recv(65536):
        pass
    stream.send(b"!")
"""
SOURCE = f"""
import socket, sys, time
stream = socket.create_connection((sys.argv[1], 9))
begin = time.monotonic()
stream.sendall(bytes({SENT}))
stream.shutdown(socket.SHUT_WR)
stream.recv(1)
print(time.monotonic() - begin)
"""


def seconds(network: Network, source: str, sink: str) -> float:
    """Of SENT bytes over TCP."""
    command = [*network.enter(sink), sys.executable, "-c", SINK]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as receiver:
        assert receiver.stdout is not None
        assert receiver.stdout.readline() == b"ready\n"
        command = [*network.enter(source), sys.executable, "-c", SOURCE, network.address(sink)]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def carries(network: Network, source: str, sink: str, least: float) -> None:
    """Takes at least so many seconds each time, and less than twice as many once: the machine may be busy."""
    took = [seconds(network, source, sink)]
    while took[-1] > 2 * least and len(took) < 30:
        took.append(seconds(network, source, sink))
    assert least <= min(took) < 2 * least, took


def test_a_link_carries_its_rate_each_way_and_no_more() -> None:
    links = [Link("a", SWITCH, RATE, RATE), Link("b", SWITCH, RATE // 4, RATE)]
    with Network(links) as network:
        least = SENT * 8 / RATE
        carries(network, "a", "b", least)
        carries(network, "b", "a", 4 * least * 0.9)
        assert network.counters()["a"][0] > SENT
        network.set_link(Link(SWITCH, "a", 2 * RATE, RATE))
        network.set_link(Link("b", SWITCH))
        carries(network, "b", "a", least * 0.45)


def test_switches_may_form_a_tree() -> None:
    links = [Link("a", "one"), Link("one", "two", RATE, RATE), Link("two", "b")]
    with Network(links, ["one", "two"]) as network:
        assert seconds(network, "a", "b") > SENT * 8 / RATE * 0.9
        assert network.counters("two")["one"][0] > SENT


def test_nothing_is_left_and_what_runs_is_killed() -> None:
    with Network(star({"a": 0, "b": RATE})) as network:
        sleeper = subprocess.Popen([*network.enter("a"), "sleep", "100"])
        names = {network.namespace(node) for node in network.nodes}
        assert names <= set(namespaces.namespaces())
    assert sleeper.wait(timeout=10) == -signal.SIGKILL
    assert not names & set(namespaces.namespaces())


def test_what_a_killed_program_left_goes_with_the_next() -> None:
    text = f"import os; os.chdir({str(Path.cwd())!r}); from testkit.namespaces import *\n"
    text += (
        "network = Network(star({'a': 0})).__enter__()\nprint(network.namespace('a'), flush=True)\ninput()"
    )
    program = subprocess.Popen(
        [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert program.stdout is not None
    name = program.stdout.readline().strip()
    assert name in namespaces.namespaces()
    program.kill()
    program.communicate()
    with Network(star({"b": 0})):
        assert name not in namespaces.namespaces()


def test_a_pulled_cable() -> None:
    with Network(star({"a": RATE, "b": RATE})) as network:
        network.cut("b")
        before = network.counters()["b"]
        command = [*network.enter("a"), sys.executable, "-c", SOURCE, network.address("b")]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as source:
            time.sleep(0.2)
            assert source.poll() is None or source.returncode != 0
            source.kill()
        assert network.counters()["b"] == before
