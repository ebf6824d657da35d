"""The models of a scenario, for scripts: the lab's (`incast.lab`) and those of jobs (`incast.kinds`)."""

from incast.kinds.broadcast import Broadcast
from incast.kinds.farmem import (
    Convolution,
    Farmem,
    FarmemCosts,
    FileTrace,
    RandomAccesses,
    SequentialAccesses,
    ZipfAccesses,
)
from incast.kinds.mine import (
    FileTransactions,
    Mine,
    MineCosts,
    MinePass,
    ProfileTransactions,
    QuestTransactions,
)
from incast.kinds.replay import Coflows, Replay, ReplayFlow
from incast.kinds.shuffle import Shuffle, ShuffleCosts
from incast.kinds.traffic import AllToAll, Background, Bulk, Incast, Load, Permutation
from incast.kinds.walk import Walk
from incast.kinds.walk.graph import EdgesGraph, SbmGraph
from incast.kinds.walk.settings import (
    Generation,
    WalkChange,
    WalkCodel,
    WalkCosts,
    WalkDatagrams,
    WalkLoss,
    WalkRed,
    WalkTailDrop,
)
from incast.lab.faults import Fault, Flap, LinkProbability, LinkRate, PauseStorm, Slow
from incast.lab.host import Host, HostOverride, Tcp
from incast.lab.measure import Measure
from incast.lab.pfc import DynamicXoff, Pfc, StaticXoff, Watchdog
from incast.lab.scenario import Scenario
from incast.lab.switch import (
    Codel,
    Ets,
    Fifo,
    Red,
    SharedBuffer,
    StaticBuffer,
    Step,
    Switch,
    SwitchOverride,
    TailDrop,
    VoqBuffer,
)
from incast.lab.topology import (
    Back,
    Dumbbell,
    FasterLink,
    FatTree,
    FileTopology,
    Framing,
    Graph,
    GraphLink,
    LeafSpine,
    Link,
    SingleSwitch,
)
