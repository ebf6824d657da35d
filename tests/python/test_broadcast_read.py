"""Topologies of broadcasts: what is read from which file, and what is refused, where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from incast.broadcast.generate import generate
from incast.broadcast.read import read
from incast.broadcast.topology import Link
from incast.errors import ScenarioError

STAR = """\
nodes:
  - {id: source, kind: host}
  - {id: switch0, kind: switch}
  - {id: slow, kind: host, cap: 100Mbps}
links:
  - {a: source, b: switch0, rate: 1Gbps}
  - {a: switch0, b: slow, ab: 20Mbps}
"""


def written(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def refused(file: Path) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        read(file)
    return [str(problem).removeprefix(f"{file.parent}/") for problem in caught.value.problems]


def test_rates_both_ways_and_each_way(tmp_path: Path) -> None:
    found = read(written(tmp_path, "net.yaml", STAR))
    assert found.hosts == ["source", "slow"]
    assert found.links == (
        Link("source", "switch0", 10**9, 10**9),
        Link("switch0", "slow", 20 * 10**6, 0),
    )
    assert [node.cap for node in found.nodes] == [None, None, 10**8]
    assert found.reached("source") == {"source", "switch0", "slow"}
    assert found.reached("slow") == {"slow"}


def test_the_cores_json_is_read_back(tmp_path: Path) -> None:
    topology = generate("clusters", 9, "mixed", 3, same=False)
    assert read(written(tmp_path, "net.json", json.dumps(topology.json()))) == topology
    one_way = read(written(tmp_path, "net.yaml", STAR))
    assert read(written(tmp_path, "net.json", json.dumps(one_way.json()))) == one_way


def test_node_link_json_and_containerlab(tmp_path: Path) -> None:
    graph = {
        "directed": True,
        "nodes": [{"id": "s", "kind": "host"}, {"id": "w", "kind": "switch"}],
        "links": [
            {"source": "s", "target": "w", "bandwidth": "1Gbps"},
            {"source": "w", "target": "s", "bandwidth": "10Mbps"},
        ],
    }
    assert read(written(tmp_path, "net.json", json.dumps(graph))).links == (Link("s", "w", 10**9, 10**7),)
    lab = (
        "topology:\n  nodes: {h0: {kind: linux}, leaf: {kind: nokia_srlinux}}\n"
        "  links:\n    - {endpoints: ['h0:eth1', 'leaf:e1'], vars: {rate: 1Gbps}}\n"
    )
    found = read(written(tmp_path, "net.clab.yml", lab))
    assert found.hosts == ["h0"]
    assert found.links == (Link("h0", "leaf", 10**9, 10**9),)


def test_a_table_whose_ends_are_hosts(tmp_path: Path) -> None:
    found = read(written(tmp_path, "net.csv", "a,b,rate\ns,w,1Gbps\nw,d,2Gbps\n"))
    assert found.hosts == ["s", "d"]


def test_all_that_is_wrong_is_named_with_its_line(tmp_path: Path) -> None:
    text = STAR + "  - {a: slow, b: switch0, rate: 1Gbps}\n  - {a: slow, b: slow, rate: 1Gbps}\n"
    text += "  - {a: slow, b: sorce, rate: 1Gbps}\n"
    assert refused(written(tmp_path, "net.yaml", text)) == [
        "net.yaml:8: links[2]: links[1] connects slow and switch0 already: one link a pair is expected",
        "net.yaml:9: links[3]: a link from a node to itself is not allowed",
        "net.yaml:10: links[4].b: 'sorce' is not one of the nodes. Did you mean 'source'? "
        "Allowed: source, switch0, slow",
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rate: 1Gbps", "rate: 0Gbps", "links[0].rate: '0Gbps' is not allowed: it must be at least 1kbps"),
        ("rate: 1Gbps", "rate: -1Gbps", "links[0].rate: "),
        ("rate: 1Gbps", "rate: 1000", "links[0].rate: "),
        (", rate: 1Gbps", "", "links[0]: has no bandwidth: rate (both ways), ab or ba is required"),
        ("ab: 20Mbps", "ab: 20Mbps, rate: 1Gbps", "links[1]: rate is for both ways"),
        ("kind: switch", "kind: swich", "nodes[1].kind: 'swich' is not allowed. Did you mean 'switch'?"),
        ("id: slow", "id: source", "nodes[0].id: 'source' is there 2 times: names must differ"),
        ("kind: switch", "kind: switch, cap: 1Gbps", "nodes[1].cap: only hosts have a cap"),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    (first, *_) = refused(written(tmp_path, "net.yaml", STAR.replace(old, new)))
    assert message in first


def test_files_of_other_programs_are_refused_with_the_link(tmp_path: Path) -> None:
    assert refused(written(tmp_path, "net.csv", "a,b,rate\ns,w,1Gbps\ns,w,2Gbps\nw,d,0bps\n")) == [
        "net.csv:3: link s – w: another link goes from s to w already: one is expected",
        "net.csv:4: link w – d: '0bps' is not allowed: it must be at least 1kbps",
    ]


def test_generated_topologies_depend_on_the_seed_only() -> None:
    for shape in ("clusters", "tree", "mesh", "star"):
        one, again, other = (generate(shape, 30, "uniform-100", seed) for seed in (1, 1, 2))
        assert one == again != other
        assert len(one.hosts) == 30
        assert one.reached("host0") == {node.id for node in one.nodes}
        assert all(link.ab == link.ba and 10**8 <= link.ab <= 10**9 for link in one.links)
    different = generate("clusters", 30, "switches", 1, same=False)
    assert any(link.ab != link.ba for link in different.links)
    assert all(link.ab == 10**9 for link in different.links if link.b.startswith("host"))
