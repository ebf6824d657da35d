"""Topologies from files: node-link JSON, GraphML, edge lists, containerlab."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from helpers import only, refused, spec

LINK = {"rate": "10Gbps", "delay": "2us"}
PLAIN_LINK = {"rate": 10**10, "delay": 2_000_000, "mtu": 9000}


def scenario(file: str, **topology: Any) -> dict[str, Any]:
    job = {"name": "swap", "kind": "permutation", "size": "1kB"}
    return {"name": "small", "topology": {"kind": "file", "file": file, **topology}, "jobs": [job]}


def graph() -> nx.Graph[str]:
    graph: nx.Graph[str] = nx.Graph()
    graph.add_edge("h0", "s0", **LINK)
    graph.add_edge("h1", "s0", **LINK)
    return graph


def assert_star(topology: dict[str, Any]) -> None:
    kinds = {node["name"]: node["kind"] for node in topology["nodes"]}
    assert kinds == {"h0": "host", "h1": "host", "s0": "switch"}
    assert all(link["ab"] == link["ba"] == PLAIN_LINK for link in topology["links"])
    assert {frozenset((link["a"], link["b"])) for link in topology["links"]} == {
        frozenset(("h0", "s0")),
        frozenset(("h1", "s0")),
    }


@pytest.mark.parametrize("key", ["edges", "links"])
def test_node_link_json(tmp_path: Path, key: str) -> None:
    (tmp_path / "net.json").write_text(json.dumps(nx.node_link_data(graph(), edges=key)))
    assert_star(spec(tmp_path, scenario("net.json"))["topology"])


def test_graphml(tmp_path: Path) -> None:
    nx.write_graphml(graph(), tmp_path / "net.graphml")
    assert_star(spec(tmp_path, scenario("net.graphml"))["topology"])


def test_edge_list(tmp_path: Path) -> None:
    (tmp_path / "net.csv").write_text("a,b,bandwidth,latency\nh0,s0,10Gbps,2us\nh1,s0,10Gbps,2us\n")
    assert_star(spec(tmp_path, scenario("net.csv"))["topology"])


def test_containerlab(tmp_path: Path) -> None:
    (tmp_path / "lab.clab.yml").write_text("""\
name: lab
topology:
  nodes:
    h0: {kind: linux, image: alpine}
    h1: {kind: linux}
    s0: {kind: ceos}
  links:
    - endpoints: ["h0:eth1", "s0:eth1"]
      vars: {rate: 10Gbps, delay: 2us}
    - endpoints: ["h1:eth1", "s0:eth2"]
      labels: {rate: 10Gbps, delay: 2us}
""")
    assert_star(spec(tmp_path, scenario("lab.clab.yml"))["topology"])


def test_defaults_for_links_and_the_names_of_hosts(tmp_path: Path) -> None:
    (tmp_path / "net.csv").write_text("a,b\nx0,y0\nx1,y0\ny0,y1\n")
    topology = spec(tmp_path, scenario("net.csv", link=LINK, hosts="x*"))["topology"]
    kinds = {node["name"]: node["kind"] for node in topology["nodes"]}
    assert kinds == {"x0": "host", "x1": "host", "y0": "switch", "y1": "switch"}
    assert topology["links"][0]["ab"] == PLAIN_LINK


def test_a_directed_graph_has_a_rate_each_way(tmp_path: Path) -> None:
    directed: nx.DiGraph[str] = nx.DiGraph()
    for a, b, rate in [("h0", "s0", "1Gbps"), ("s0", "h0", "2Gbps"), ("h1", "s0", "3Gbps")]:
        directed.add_edge(a, b, rate=rate)
    (tmp_path / "net.json").write_text(json.dumps(nx.node_link_data(directed, edges="links")))
    links = spec(tmp_path, scenario("net.json"))["topology"]["links"]
    assert [(link["a"], link["ab"]["rate"], link["ba"]["rate"]) for link in links] == [
        ("h0", 10**9, 2 * 10**9),
        ("h1", 3 * 10**9, 3 * 10**9),
    ]


def test_parallel_links_stay_apart(tmp_path: Path) -> None:
    rows = "a,b,rate\nh0,s0,1Gbps\nh1,s1,1Gbps\ns0,s1,1Gbps\ns0,s1,1Gbps\n"
    (tmp_path / "net.csv").write_text(rows)
    assert len(spec(tmp_path, scenario("net.csv"))["topology"]["links"]) == 4


@pytest.mark.parametrize(
    ("name", "content", "line", "said"),
    [
        ("net.csv", "a,b,rate\nh0,s0,10Gbps\ns0,s0,10Gbps\nh1,s0,1Gbps", 3, "to itself"),
        ("net.csv", "a,b,rate\nh0,s0,10\nh1,s0,1Gbps", 2, '"10" has no unit'),
        ("net.csv", "a,b,rate\nh0,s0,0Gbps\nh1,s0,1Gbps", 2, "above zero"),
        ("net.csv", "a,b,rate\nh0,s0,\nh1,s0,1Gbps", 2, "has no rate or bandwidth or capacity"),
        ("net.csv", "a,b,rate\nh0,s0,1Gbps,9,9\n", None, "line 2: expected 3 columns"),
        ("net.csv", "from,to\nh0,s0\n", None, "the columns a, b"),
        ("net.csv", "", None, "the columns a, b"),
        ("net.csv", "a,b\n\xff", None, "not readable as a graph"),
        ("net.json", "{", None, "not readable as a graph"),
        ("net.json", "[1]", None, "expected node-link JSON"),
        ("net.json", '{"nodes": 3, "links": []}', None, "not readable as a graph"),
        ("net.json", "[" * 100_000, None, "not readable as a graph"),
        ("net.graphml", "<graphml", None, "not readable as a graph"),
        ("net.graphml", "<!DOCTYPE x [<!ENTITY a 'b'>]><graphml>&a;", None, "not readable as a graph"),
        ("net.clab.yml", "name: x", None, "'topology' is missing"),
        ("net.clab.yml", "topology: {nodes: {h0: , s0: {kind: srl}}, links: [{endpoints: ['h0:e', 's1:e']}]}", 1, "'s1' is not"),
        ("net.txt", "x", None, "Allowed: *.json, *.graphml, *.csv, *.clab.yml"),
    ],
)  # fmt: skip
def test_refused(tmp_path: Path, name: str, content: str, line: int | None, said: str) -> None:
    (tmp_path / name).write_bytes(content.encode("latin-1"))
    problem = only(refused(tmp_path, scenario(name)))
    assert said in problem.message
    assert (problem.file, problem.line, problem.path) == (str(tmp_path / name), line, "topology.file")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "no such file" in only(refused(tmp_path, scenario("none.json"))).message


def test_names_that_ports_could_not_carry(tmp_path: Path) -> None:
    (tmp_path / "net.csv").write_text("a,b,rate\nh:0,s0,1Gbps\nh1,s0,1Gbps\n")
    assert "'h:0' is not a name" in only(refused(tmp_path, scenario("net.csv"))).message
