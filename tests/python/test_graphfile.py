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


def test_edge_list_of_networkx(tmp_path: Path) -> None:
    nx.write_edgelist(graph(), tmp_path / "net.edgelist")
    assert_star(spec(tmp_path, scenario("net.edgelist"))["topology"])
    (tmp_path / "net.edgelist").write_text("# two columns\nh0 s0\n\nh1 s0  # and one more\n")
    assert_star(spec(tmp_path, scenario("net.edgelist", link=LINK))["topology"])


def test_a_table_of_a_spreadsheet(tmp_path: Path) -> None:
    (tmp_path / "net.csv").write_text("a,b\r\nh0,s0\r\nh1,s0\r\n", encoding="utf-8-sig")
    assert_star(spec(tmp_path, scenario("net.csv", link=LINK))["topology"])


def test_groups_and_long_links_of_containerlab(tmp_path: Path) -> None:
    (tmp_path / "lab.clab.yml").write_text("""\
topology:
  defaults: {kind: ceos}
  groups: {clients: {kind: linux}}
  nodes:
    h0: {group: clients}
    h1: {group: clients}
    s0:
  links:
    - {type: veth, endpoints: [{node: h0, interface: eth1}, {node: s0, interface: eth1}]}
    - {type: veth, endpoints: [{node: h1, interface: eth1}, {node: s0, interface: eth2}]}
""")
    assert_star(spec(tmp_path, scenario("lab.clab.yml", link=LINK))["topology"])


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
        ("net.csv", "a,b,rate\nh0,s0,1Gbps,9,9\n", 2, "expected 3 columns"),
        ("net.csv", "from,to\nh0,s0\n", 1, "the columns a, b"),
        ("net.csv", "", 1, "the columns a, b"),
        ("net.csv", "a,b,bandwith\nh0,s0,1Gbps\n", 1, "Did you mean 'bandwidth'?"),
        ("net.csv", "a,b\n\xff", None, "not UTF-8 text"),
        ("net.edgelist", "h0 s0\nh1\n", 2, "expected two nodes"),
        ("net.edgelist", "h0 s0 3.0\n", 1, "expected two nodes"),
        ("net.edgelist", "h0 s0 {'rate': '-1Gbps'}\n", 1, "not negative"),
        ("net.json", "{\n", 2, "not JSON"),
        ("net.json", '{"nodes": [{"id": "a"}, {"id": "a"}], "links": []}', None, "node a is there twice"),
        ("net.json", '{"nodes": [1], "links": []}', None, "node 1: expected a mapping with an id"),
        ("net.json", '{"nodes": [], "links": [{"source": "a"}]}', None, "link 1: expected a mapping with source"),
        ("net.json", "[1]", None, "expected node-link JSON"),
        ("net.json", '{"nodes": 3, "links": []}', None, "which are lists"),
        ("net.json", "[" * 100_000, None, "nested too deep"),
        ("net.graphml", "<graphml", 1, "not XML"),
        ("net.graphml", "<!DOCTYPE x [<!ENTITY a 'b'>]><graphml>&a;", 1, "not XML"),
        ("net.clab.yml", "# cut off", 1, "topology is missing"),
        ("net.clab.yml", "name: x", 1, "topology is missing"),
        ("net.clab.yml", "topology:\n  nodes: [a]", 2, "nodes: expected a mapping"),
        ("net.clab.yml", "topology:\n  nodes: {}\n  links: {a: b}", 3, "links: expected a list"),
        ("net.clab.yml", "topology:\n nodes: {a: , b: }\n links:\n - endpoints: [a:e1]", 4, "expected two, like"),
        ("net.clab.yml", "topology:\n nodes: {a: , b: }\n links:\n - endpoints: [a:e1, b:e1]\n"
         " - endpoints: [a:e1, b:e2]", 5, "a:e1 is an end of another link"),
        ("net.clab.yml", "topology: {nodes: {h0: , s0: {kind: srl}}, links: [{endpoints: ['h0:e', 's1:e']}]}", 1, "'s1' is not"),
        ("net.txt", "x", None, "Allowed: *.json, *.graphml, *.csv, *.edgelist, *.clab.yml"),
    ],
)  # fmt: skip
def test_refused(tmp_path: Path, name: str, content: str, line: int | None, said: str) -> None:
    (tmp_path / name).write_bytes(content.encode("latin-1"))
    problem = only(refused(tmp_path, scenario(name)))
    assert said in problem.message
    assert (problem.file, problem.line, problem.path) == (str(tmp_path / name), line, "topology.file")


@pytest.mark.parametrize("form", ["json", "graphml"])
def test_a_link_to_a_node_that_is_not_there(tmp_path: Path, form: str) -> None:
    file = tmp_path / f"net.{form}"
    if form == "json":
        file.write_text(json.dumps(nx.node_link_data(graph(), edges="links")))
    else:
        nx.write_graphml(graph(), file)
    file.write_text(
        file.read_text().replace('"target": "s0"', '"target": "s9"').replace('target="h1"', 'target="s9"')
    )
    assert any(
        "'s9' is not one of the nodes" in each.message for each in refused(tmp_path, scenario(file.name))
    )


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "no such file" in only(refused(tmp_path, scenario("none.json"))).message


def test_names_that_ports_could_not_carry(tmp_path: Path) -> None:
    (tmp_path / "net.csv").write_text("a,b,rate\nh:0,s0,1Gbps\nh1,s0,1Gbps\n")
    assert "'h:0' is not a name" in only(refused(tmp_path, scenario("net.csv"))).message
