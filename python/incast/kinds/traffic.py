"""What the cluster does."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PlainValidator, ValidationInfo, WithJsonSchema, field_validator

from incast.hints import unknown
from incast.kinds.farmem import FarmemCosts, FarmemPattern, LocalSize
from incast.kinds.mine import MineCosts, MineTransactions
from incast.kinds.walk import (
    EdgesGraph,
    Generation,
    SbmGraph,
    WalkChange,
    WalkCodel,
    WalkCosts,
    WalkDatagrams,
    WalkLoss,
    WalkRed,
    WalkTailDrop,
)
from incast.lab.base import Count, Kind, Model, Name, Pairs, Selector, TrafficClass
from incast.quantity import PositiveSize, PositiveTime, Rate, Size, Time, parse_bytes

SIZE_DISTRIBUTIONS = ("web-search", "data-mining")


class _Job(Kind):
    """What every job has."""

    name: Name
    """Unique name."""
    start: Time = "0s"
    """When it begins."""
    class_: TrafficClass = Field(0, alias="class")
    """802.1p class of its packets, 0–7."""


class Bulk(_Job):
    """One flow a pair, all at once."""

    kind: Literal["bulk"] = "bulk"
    pairs: Pairs
    """Who sends to whom."""
    among: Selector = "*"
    """The hosts of random pairs."""
    size: PositiveSize
    """Size of each flow."""


class Incast(_Job):
    """All senders answer one receiver at the same time; the next round begins when the last byte is there."""

    kind: Literal["incast"] = "incast"
    receiver: str
    """Who receives."""
    senders: Selector = "*"
    """Who sends; the receiver is left out of a pattern."""
    size: PositiveSize
    """Size of each answer."""
    rounds: Count = 1
    """How often."""


class Permutation(_Job):
    """Every host sends to one other and receives from one other, drawn from the seed."""

    kind: Literal["permutation"] = "permutation"
    hosts: Selector = "*"
    """Who takes part."""
    size: PositiveSize
    """Size of each flow."""


class AllToAll(_Job):
    """Every host sends to every other."""

    kind: Literal["all-to-all"] = "all-to-all"
    hosts: Selector = "*"
    """Who takes part."""
    size: PositiveSize
    """Size of each flow."""
    parallel: Count | None = None
    """Flows that a host has open at a time; without a value: all."""
    order: Literal["rotated", "same"] = "rotated"
    """To whom each sends first: rotated, to the host after it; same, all to the first host."""
    skew: Time = "0s"
    """Each host begins at a time drawn between `start` and so long after it."""


def _sizes(value: object) -> str | list[list[str | float]]:
    if isinstance(value, str):
        if value in SIZE_DISTRIBUTIONS or value.endswith(".txt"):
            return value
        raise ValueError(
            unknown("a size distribution", value, SIZE_DISTRIBUTIONS)
            + ", a file *.txt with 'bytes probability' lines, or a list of [size, probability up to it]"
        )
    if not isinstance(value, list) or not value:
        raise ValueError("expected a name or a list of [size, probability up to it]")
    for point in value:
        if not (isinstance(point, list) and len(point) == 2 and isinstance(point[1], int | float)):
            raise ValueError(f"{point!r} is not a point: expected [size, probability up to it]")
        parse_bytes(str(point[0]))
    return value


Sizes = Annotated[
    str | list[list[str | float]],
    PlainValidator(_sizes),
    WithJsonSchema(
        {
            "description": "web-search, data-mining, a file *.txt, or [size, probability up to it] points",
            "anyOf": [
                {"enum": list(SIZE_DISTRIBUTIONS)},
                {"type": "string", "pattern": r"\.txt$"},
                {"type": "array", "minItems": 1, "items": {"type": "array", "minItems": 2, "maxItems": 2}},
            ],
        }
    ),
]


class Load(_Job):
    """Flows between random pairs, Poisson arrivals, sizes from a distribution."""

    kind: Literal["load"] = "load"
    hosts: Selector = "*"
    """Who takes part."""
    sizes: Sizes = "web-search"
    """Flow sizes as a cumulative distribution: sizes, each with the part of flows that are at most so large,
    ascending up to 1. Sizes in between are interpolated."""
    load: Annotated[float, Field(gt=0, le=10)] = 0.5
    """Part of the hosts' link rate that is offered."""
    duration: PositiveTime
    """Arrivals end after it."""


class ReplayFlow(Model):
    """A flow to replay."""

    at: Time = "0s"
    """When it begins, since the job's start."""
    from_: str = Field(alias="from")
    """Sender."""
    to: str
    """Receiver."""
    size: PositiveSize
    """Size."""
    group: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Ties flows together."""


_Scale = Annotated[float, Field(gt=0, le=1e9)]


class _Trace(_Job):
    scale: _Scale = 1.0
    """Sizes are multiplied by it."""
    time_scale: _Scale = 1.0
    """Times are multiplied by it: 0.1 replays ten times as fast."""
    first: Count | None = None
    """Only so many entries of the trace."""
    place: Selector = "*"
    """The hosts that the trace's numbers stand for, in order; more numbers than hosts wrap around."""


class Replay(_Trace):
    """A list of flows."""

    kind: Literal["replay"] = "replay"
    flows: list[ReplayFlow] = []
    """The flows, written here."""
    trace: str | None = None
    """The flows in a file: CSV or Parquet with the columns at, from, to, size and perhaps group."""


class Coflows(_Trace):
    """Coflows: every mapper sends each reducer its part at the same time."""

    kind: Literal["coflows"] = "coflows"
    trace: str
    """A file in the format of the public FB2010 coflow trace."""


class Background(_Job):
    """Datagrams or streams at a constant rate between pairs, until the run ends."""

    kind: Literal["background"] = "background"
    pairs: Pairs = "random"
    """Who sends to whom."""
    among: Selector = "*"
    """The hosts of random pairs."""
    rate: Rate
    """Rate of a pair, IP bytes counted."""
    over: Literal["udp", "tcp"] = "udp"
    """How it travels: datagrams that nothing slows down, or a stream written to at the rate."""
    model: Literal["packets", "fluid"] = "packets"
    """Packet by packet, or (datagrams only) a rate at each port on its way: cheaper, nearly exact."""
    duration: PositiveTime | None = None
    """Ends so long after `start`; without a value, with the run."""

    @field_validator("model")
    @classmethod
    def _nothing_slows_it_down(cls, model: str, info: ValidationInfo) -> str:
        if model == "fluid" and info.data.get("over") == "tcp":
            raise ValueError("a fluid is what nothing slows down: over udp, or model packets")
        return model


_Part = Annotated[float, Field(ge=0, le=1)]
_PartAboveZero = Annotated[float, Field(gt=0, le=1)]
_Calls = Annotated[int, Field(ge=0, le=10_000)]


class ShuffleCosts(Model):
    """How long the parts of a TeraSort take on a host. Rates are a core's; disks have the host's rate."""

    map_rate: Rate = "100MB/s"
    """Reading records and the map function."""
    sort_rate: Rate = "200MB/s"
    """Sorting a full buffer."""
    merge_rate: Rate = "400MB/s"
    """Merging sorted runs."""
    reduce_rate: Rate = "100MB/s"
    """The reduce function and writing records."""
    variation: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """A task's rates differ from these by up to this part, drawn for each task."""
    page_cache: _Part = 1.0
    """Part of what is read back from the local disk (map output, runs) that the page cache answers."""
    job_submit: Time = "2s"
    """The client computes the splits and submits the job."""
    master_start: Time = "4s"
    """The application master's container starts."""
    master_rpcs: _Calls | None = None
    """Calls of the application master's start, one after the other, over the link of the first compute node.
    Without a value 62, with Tez 78: these and the others are measured, see the explanation of shuffle."""
    container_start: Time = "1500ms"
    """A container starts: localisation and a JVM."""
    localisation_rpcs: _Calls | None = None
    """Calls to the master by which a node gets the job's files: its first containers wait for them.
    Without a value 20, with Tez 32."""
    container_rpcs: _Calls | None = None
    """Calls to the master that a new container makes before its task starts, one after the other.
    Without a value 20, with Tez 21."""
    task_setup: Time = "300ms"
    """A task starts in its container."""
    task_commit: Time = "100ms"
    """A task commits its output."""
    map_rpcs: _Calls | None = None
    """Calls to the master that a map makes one after the other: half at its start, half at its commit.
    Without a value 13, with Tez 10."""
    reduce_rpcs: _Calls | None = None
    """Calls to the master that a reduce makes one after the other: half at its start, half at its commit.
    Without a value 30, with Tez 22."""
    job_commit: Time = "500ms"
    """The job commits its output."""
    commit_rpcs: _Calls | None = None
    """Calls of the application master at the job's commit, one after the other, over its compute node's link.
    Without a value 62, with Tez 14."""
    heartbeat: PositiveTime = "1s"
    """Time between a NodeManager's heartbeats: containers are assigned in answer to them."""
    umbilical: PositiveTime | None = None
    """Time between a node's questions for finished maps; without a value 1s, with Tez 100ms."""
    assignments: Count = 100
    """Containers that an answer to a heartbeat assigns at most."""
    socket_timeout: PositiveTime = "60s"
    """A transfer without progress for so long is given up and tried anew."""
    fetch_penalty: PositiveTime = "10s"
    """A node where a fetch failed is left alone for so long."""
    node_expiry: PositiveTime = "600s"
    """A node that is silent for so long is lost, and its tasks run elsewhere."""


class Shuffle(_Job):
    """TeraSort on Hadoop: maps read from data nodes, reduces fetch from maps and write to data nodes."""

    kind: Literal["shuffle"] = "shuffle"
    framework: Literal["mapreduce", "tez"] = "mapreduce"
    """What runs the tasks: MapReduce starts a container a task, Tez uses containers again."""
    size: PositiveSize
    """Input; so much is shuffled and written too."""
    block: PositiveSize = "128MiB"
    """HDFS block: a map reads one."""
    master: str
    """Where the application master and the metadata are; no other role."""
    compute: Selector
    """Where containers run."""
    data: Selector
    """Where blocks are; no compute nodes."""
    slots: Count = 8
    """Containers that a compute node runs at a time."""
    reduces: Count | None = None
    """Reduce tasks; without a value, 0.95 of all slots."""
    input_replication: Count = 3
    """Copies of each input block."""
    output_replication: Count = 1
    """Copies of the output (`mapreduce.terasort.output.replication`)."""
    log_size: Size = "0B"
    """Log that a container uploads at its end."""
    log_nodes: Selector | None = None
    """Where logs go: data nodes, these or others; without a value, the job's."""
    parallel_copies: Count | None = None
    """Fetches that a reduce has open at a time; without a value 5, with Tez 20."""
    slow_start: _Part | None = None
    """Part of the maps after which reduces begin to be started; without a value 0.05, with Tez 0.25."""
    slow_start_end: _Part | None = None
    """Tez only: part of the maps after which all reduces may have started; without a value 0.75."""
    io_sort: PositiveSize = "100MiB"
    """A map's sort buffer (`io.sort.mb`); it spills at 0.80."""
    reduce_memory: PositiveSize = "1GiB"
    """Memory of a reduce."""
    shuffle_buffer: _PartAboveZero = 0.7
    """Part of the memory that fetched map output may fill."""
    merge_at: _PartAboveZero = 0.66
    """Part of that buffer at which it is merged to disk."""
    costs: ShuffleCosts = ShuffleCosts()
    """How long things take on a host."""


_Steps = Annotated[int, Field(ge=1, le=2**24)]
_Bias = Annotated[float, Field(ge=1e-3, le=1e3)]


class Walk(_Job):
    """Random walks on a graph spread over servers: every walker travels, and queues, by itself."""

    kind: Literal["walk"] = "walk"
    servers: Selector = "*"
    """The hosts that are servers, in order."""
    graph: Annotated[SbmGraph | EdgesGraph, Field(discriminator="kind")]
    """The graph."""
    partition: list[Annotated[int, Field(ge=0, lt=2**31)]] | None = None
    """Nodes of each server, in order; without a value a block each, or as even as can be."""
    changes: list[WalkChange] = []
    """Edges that come and go, by time."""
    walks: Annotated[int, Field(ge=1, le=2**30)] = 10_000
    """Finished walks that each node is to have."""
    stop: Annotated[float, Field(ge=1e-6, le=1)] | None = None
    """A walk stops with this probability before each step; without a value and without `length`, 0.15."""
    length: _Steps | None = None
    """Instead of `stop`: steps of each walk."""
    restart: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """A step leads back to the start with this probability."""
    p: _Bias = 1.0
    """node2vec's return parameter."""
    q: _Bias = 1.0
    """node2vec's in-out parameter."""
    steps_max: _Steps = 65_536
    """A walk ends after so many steps, whatever its rule says."""
    regenerate: bool = True
    """A lost walk is generated again, until all are finished."""
    retry: Literal["same", "fresh"] = "same"
    """A walk that is generated again goes the same way, or draws anew, which favours short walks."""
    queue: Annotated[WalkTailDrop | WalkRed | WalkCodel, Field(discriminator="kind")] = WalkRed()
    """Which walkers a server drops (RQ)."""
    limit: Count = 100
    """Most walkers that wait at a server."""
    loss: WalkLoss = WalkLoss()
    """How a source finds losses (RG)."""
    generation: Generation = Generation()
    """How a source generates walkers (RG)."""
    datagrams: WalkDatagrams = WalkDatagrams()
    """One walker a datagram, or several."""
    authenticate: bool = True
    """Datagrams carry a tag of 8 bytes that only members can make."""
    workers: Annotated[int, Field(ge=1, le=1024)] = 1
    """Walkers that a server serves side by side; its host has cores for them and for generating."""
    costs: WalkCosts | list[WalkCosts] = WalkCosts()
    """How long things take on all servers, or on each in order."""
    snapshot: PositiveTime | None = None
    """Time between snapshots of a source's finished walks, for a restart; without a value, one at the end."""


class Broadcast(_Job):
    """One file from one host to many: hosts relay what they have, and a slow one costs the others nothing."""

    kind: Literal["broadcast"] = "broadcast"
    source: str
    """Who has the file."""
    destinations: Selector = "*"
    """Who is to get it; the source is left out of a pattern."""
    size: PositiveSize
    """Size of the file."""
    chunk: PositiveSize | None = None
    """Size of the chunks that hosts pass on; without a value one that suits the plan, 16KiB to 4MiB."""
    algorithm: Literal["flat", "random-pipeline", "depth-first", "dijkstra", "fpfr", "stable", "near"] = (
        "stable"
    )
    """How plans are made: from the source to each, a chain in random or in depth-first order, widest paths,
    spanning trees, spanning and partial trees, or close to the highest sum of rates on any topology."""
    plan: str | None = None
    """The first plan in a file (JSON), instead of one that is made."""
    headroom: Annotated[float, Field(ge=0.5, le=10)] | None = 1.1
    """A parent sends to a child at most at the plan's rate times this; `null`: TCP shares the links."""
    replan: bool = True
    """Plan anew when links turn out slower or faster than planned."""
    disk: bool = False
    """Chunks take their time on the receivers' disks before they are passed on."""
    report: PositiveTime = "250ms"
    """Hosts report to the source so often."""
    silence: PositiveTime = "3s"
    """A host that is silent for so long is planned around, and taken back when it speaks again; at least
    three reports."""
    patience: PositiveTime = "90s"
    """A host that is silent for so long has failed for good; the end waits so long for it."""


class Mine(_Job):
    """Association rules from transactions spread over nodes: Apriori, pass after pass (document 001)."""

    kind: Literal["mine"] = "mine"
    nodes: Selector = "*"
    """The hosts that mine, in order."""
    transactions: MineTransactions
    """The transactions, spread evenly over the nodes; or what is known of them."""
    support: Annotated[float, Field(gt=0, le=1)]
    """Share of the transactions that hold a large itemset, at least."""
    longest: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Items of the longest itemset; without a value, as long as they come."""
    algorithm: Literal["npa", "hpa", "hpa-eld"] = "hpa"
    """All candidates at each node, spread by a hash, or spread but for those of the most frequent items."""
    exchange: Literal["plain", "combined", "frequent"] = "plain"
    """Owners of candidates are sent each one found, counts, or counts of what is frequent at the node."""
    combine: Annotated[int, Field(ge=1, lt=2**32)] | None = None
    """With `combined`: counts over so many transactions; without a value, over all of a node's."""
    memory: PositiveSize = "64MiB"
    """Memory of a node for candidates, their counts and bitmaps; what does not fit takes more scans."""
    duplicated: Annotated[int, Field(ge=0, lt=2**32)] = 0
    """With `hpa-eld`: candidates of so many of the most frequent items are counted everywhere."""
    block: PositiveSize = "8KiB"
    """Size of a message, 256B to 1MiB."""
    padded: bool = False
    """Messages of large itemsets are filled up to a block."""
    order: Literal["same", "rotated"] = "same"
    """A node sends to the others from the first to the last, or from the next one on."""
    costs: MineCosts = MineCosts()
    """How long things take on a node."""


class Farmem(_Job):
    """Programs whose memory lies at memory nodes, behind a local page cache each (document 004)."""

    kind: Literal["farmem"] = "farmem"
    programs: Selector
    """The hosts that run a program each, with one thread."""
    memory: Selector
    """The memory nodes: programs take them in turn."""
    pattern: FarmemPattern
    """What each program does to its memory."""
    local: LocalSize
    """Local memory of each: a size, or a share of the most that the program has in use."""
    page: PositiveSize = "4KiB"
    """What is exchanged: a power of two from 4KiB to 2MiB."""
    policy: Literal["fifo", "clock", "lru"] = "fifo"
    """Which page leaves."""
    read_ahead: Annotated[int, Field(ge=0, le=511)] = 0
    """Pages fetched with the one needed, as far as they follow it; half of the local memory at most."""
    pages_a_request: Annotated[int, Field(ge=1, le=512)] = 1
    """How many pages share a request. Requests of a fault go one after the other."""
    write_back: Literal["before", "after"] = "before"
    """A fault sends what leaves and waits for it before it fetches, or sends it behind its request."""
    write_buffer: Annotated[int, Field(ge=1, le=1_048_576)] = 64
    """With `after`: a fault waits while more pages than these are on their way back."""
    schedule: Literal["fifo", "reads-first", "shortest-first"] = "fifo"
    """Each transfer in its turn; fetches before write-backs, which have a stream of their own; or, at the
    memory node, fetches of few pages before those of many, too."""
    compression: Annotated[float, Field(ge=1, le=1000)] = 1.0
    """A page travels as its size divided by this."""
    costs: FarmemCosts = FarmemCosts()
    """How long things take."""


Job = Annotated[
    Bulk
    | Incast
    | Permutation
    | AllToAll
    | Load
    | Replay
    | Coflows
    | Background
    | Shuffle
    | Walk
    | Broadcast
    | Mine
    | Farmem,
    Field(discriminator="kind"),
]
