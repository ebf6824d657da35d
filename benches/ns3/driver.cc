// Runs one case in ns-3 and prints what happened as JSON.
//
// It is the other side of the benchmarks (benches/run.py) and of the differential tests
// (tests/differential). It is not a general ns-3 front end: hosts speak TCP over point-to-point
// links through switches whose ports mark at a step or drop at the tail, and every flow's path is
// given, so that both simulators carry the same packets over the same links.
//
// Usage: driver CASE-FILE. The format of the file is documented in case_file.py, which writes it.
// Times are picoseconds, sizes bytes, rates bits per second.

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint16_t PORT = 5000;
constexpr uint32_t FIRST_ADDRESS = 0x0a000001; // 10.0.0.1, the address of node 0

struct Link
{
    uint32_t a;
    uint32_t b;
    uint64_t rate;
    int64_t delay;
};

struct Loss
{
    int64_t start;
    uint32_t a;
    uint32_t b;
    double probability;
};

struct Flow
{
    int64_t start;
    uint64_t bytes;
    std::vector<uint32_t> path; // nodes, both hosts included
    int64_t connected = -1;
    int64_t finished = -1;
    uint64_t received = 0;
    uint64_t segments = 0; // data segments sent, retransmissions included
};

struct Case
{
    std::map<std::string, std::string> settings;
    uint32_t hosts = 0;    // nodes 0 .. hosts-1
    uint32_t switches = 0; // the nodes after them
    std::vector<Link> links;
    std::vector<Loss> losses;
    std::vector<Flow> flows;

    std::string Text(const std::string& key) const
    {
        auto it = settings.find(key);
        NS_ABORT_MSG_IF(it == settings.end(), "the case does not set " << key);
        return it->second;
    }

    int64_t Number(const std::string& key) const
    {
        return std::stoll(Text(key));
    }

    bool Flag(const std::string& key) const
    {
        return Number(key) != 0;
    }
};

Case
ReadCase(const char* name)
{
    std::ifstream file(name);
    NS_ABORT_MSG_IF(!file, "cannot read " << name);
    Case c;
    std::string line;
    while (std::getline(file, line))
    {
        std::istringstream words(line);
        std::string kind;
        words >> kind;
        if (kind == "set")
        {
            std::string key;
            std::string value;
            words >> key >> value;
            c.settings[key] = value;
        }
        else if (kind == "nodes")
        {
            words >> c.hosts >> c.switches;
        }
        else if (kind == "link")
        {
            Link l;
            words >> l.a >> l.b >> l.rate >> l.delay;
            c.links.push_back(l);
        }
        else if (kind == "loss")
        {
            Loss l;
            words >> l.start >> l.a >> l.b >> l.probability;
            c.losses.push_back(l);
        }
        else if (kind == "flow")
        {
            Flow f;
            words >> f.start >> f.bytes;
            uint32_t node;
            while (words >> node)
            {
                f.path.push_back(node);
            }
            NS_ABORT_MSG_IF(f.path.size() < 2, "a flow without a path");
            c.flows.push_back(f);
        }
    }
    return c;
}

Ipv4Address
AddressOf(uint32_t node)
{
    return Ipv4Address(FIRST_ADDRESS + node);
}

uint32_t
NodeOf(Ipv4Address address)
{
    return address.Get() - FIRST_ADDRESS;
}

/// Routes by (source host, destination host), one look-up a packet: ns-3's own routing has neither
/// a path a flow nor a table that stays fast with a thousand hosts.
class PathRouting : public Ipv4RoutingProtocol
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("PathRouting").SetParent<Ipv4RoutingProtocol>().AddConstructor<PathRouting>();
        return tid;
    }

    void SetSelf(uint32_t node)
    {
        m_self = node;
    }

    void Add(uint32_t from, uint32_t to, Ptr<NetDevice> device)
    {
        auto route = Create<Ipv4Route>();
        route->SetSource(AddressOf(from));
        route->SetDestination(AddressOf(to));
        route->SetGateway(AddressOf(to)); // a point-to-point device resolves no address
        route->SetOutputDevice(device);
        m_routes[Key(from, to)] = route;
    }

    Ptr<Ipv4Route> RouteOutput(Ptr<Packet>,
                               const Ipv4Header& header,
                               Ptr<NetDevice>,
                               Socket::SocketErrno& error) override
    {
        auto it = m_routes.find(Key(m_self, NodeOf(header.GetDestination())));
        NS_ABORT_MSG_IF(it == m_routes.end(), "no route out of node " << m_self);
        error = Socket::ERROR_NOTERROR;
        return it->second;
    }

#ifdef NS3_CALLBACKS_BY_REFERENCE
    bool RouteInput(Ptr<const Packet> packet,
                    const Ipv4Header& header,
                    Ptr<const NetDevice> device,
                    const UnicastForwardCallback& forward,
                    const MulticastForwardCallback&,
                    const LocalDeliverCallback& deliver,
                    const ErrorCallback&) override
#else
    bool RouteInput(Ptr<const Packet> packet,
                    const Ipv4Header& header,
                    Ptr<const NetDevice> device,
                    UnicastForwardCallback forward,
                    MulticastForwardCallback,
                    LocalDeliverCallback deliver,
                    ErrorCallback) override
#endif
    {
        uint32_t to = NodeOf(header.GetDestination());
        if (to == m_self)
        {
            deliver(packet, header, m_ipv4->GetInterfaceForDevice(device));
            return true;
        }
        auto it = m_routes.find(Key(NodeOf(header.GetSource()), to));
        NS_ABORT_MSG_IF(it == m_routes.end(), "no route through node " << m_self);
        forward(it->second, packet, header);
        return true;
    }

    void NotifyInterfaceUp(uint32_t) override
    {
    }

    void NotifyInterfaceDown(uint32_t) override
    {
    }

    void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override
    {
    }

    void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override
    {
    }

    void SetIpv4(Ptr<Ipv4> ipv4) override
    {
        m_ipv4 = ipv4;
    }

    void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override
    {
    }

  private:
    static uint64_t Key(uint32_t from, uint32_t to)
    {
        return (uint64_t(from) << 32) | to;
    }

    uint32_t m_self = 0;
    Ptr<Ipv4> m_ipv4;
    std::unordered_map<uint64_t, Ptr<Ipv4Route>> m_routes;
};

class PathRoutingHelper : public Ipv4RoutingHelper
{
  public:
    PathRoutingHelper* Copy() const override
    {
        return new PathRoutingHelper(*this);
    }

    Ptr<Ipv4RoutingProtocol> Create(Ptr<Node> node) const override
    {
        auto routing = CreateObject<PathRouting>();
        routing->SetSelf(node->GetId());
        return routing;
    }
};

/// Data sent and not cumulatively acknowledged, at most the window: what RFC 5681 (equation 4), RFC 6675
/// (step 4.2) and RFC 9438 (section 4.6) take for the reduction after loss. ns-3 takes what is left of it
/// without the segments thought lost or known to have arrived (Reno), or the window (CUBIC).
uint32_t
FlightSize(Ptr<const TcpSocketState> state)
{
    uint32_t flight = state->m_highTxMark.Get() - state->m_lastAckedSeq;
    return std::min(flight, state->m_cWnd.Get());
}

uint32_t
AtLeastTwoSegments(Ptr<const TcpSocketState> state, uint32_t window)
{
    return std::max(window, 2 * state->m_segmentSize);
}

class TcpRenoRfc5681 : public TcpNewReno
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("TcpRenoRfc5681").SetParent<TcpNewReno>().AddConstructor<TcpRenoRfc5681>();
        return tid;
    }

    uint32_t GetSsThresh(Ptr<const TcpSocketState> state, uint32_t) override
    {
        return AtLeastTwoSegments(state, FlightSize(state) / 2);
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<TcpRenoRfc5681>(this);
    }
};

class TcpCubicRfc9438 : public TcpCubic
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("TcpCubicRfc9438").SetParent<TcpCubic>().AddConstructor<TcpCubicRfc9438>();
        return tid;
    }

    uint32_t GetSsThresh(Ptr<const TcpSocketState> state, uint32_t inFlight) override
    {
        TcpCubic::GetSsThresh(state, inFlight); // remembers the window and ends the epoch
        return AtLeastTwoSegments(state, FlightSize(state) / 10 * 7);
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<TcpCubicRfc9438>(this);
    }
};

/// A loss halves the window (RFC 8257, section 3.4), and no reduction goes below two segments. Without the
/// second, ns-3's window can fall below one segment, and the flow stands still until the retransmission
/// timer.
class TcpDctcpRfc8257 : public TcpDctcp
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("TcpDctcpRfc8257").SetParent<TcpDctcp>().AddConstructor<TcpDctcpRfc8257>();
        return tid;
    }

    uint32_t GetSsThresh(Ptr<const TcpSocketState> state, uint32_t inFlight) override
    {
        uint32_t marked = TcpDctcp::GetSsThresh(state, inFlight);
        uint32_t threshold = m_loss ? FlightSize(state) / 2 : marked;
        m_loss = false;
        return AtLeastTwoSegments(state, threshold);
    }

    // Called before GetSsThresh when fast recovery begins, after it on a timeout.
    void CongestionStateSet(Ptr<TcpSocketState> state, TcpSocketState::TcpCongState_t next) override
    {
        m_loss = next == TcpSocketState::CA_RECOVERY;
        if (next == TcpSocketState::CA_LOSS && state->m_congState != TcpSocketState::CA_LOSS)
        {
            state->m_ssThresh = AtLeastTwoSegments(state, FlightSize(state) / 2);
        }
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<TcpDctcpRfc8257>(this);
    }

  private:
    bool m_loss = false;
};

NS_OBJECT_ENSURE_REGISTERED(TcpRenoRfc5681);
NS_OBJECT_ENSURE_REGISTERED(TcpCubicRfc9438);
NS_OBJECT_ENSURE_REGISTERED(TcpDctcpRfc8257);

/// The case as ns-3 objects, and what is counted while it runs.
class Run
{
  public:
    explicit Run(Case c)
        : m_case(std::move(c))
    {
        SetDefaults();
        BuildNodes();
        for (const auto& link : m_case.links)
        {
            BuildLink(link);
        }
        for (const auto& loss : m_case.losses)
        {
            BuildLoss(loss, m_ports.at({loss.a, loss.b}));
            BuildLoss(loss, m_ports.at({loss.b, loss.a}));
        }
        for (const auto& flow : m_case.flows)
        {
            InstallPath(flow.path);
        }
        for (uint32_t i = 0; i < m_case.flows.size(); i++)
        {
            BuildFlow(i);
        }
    }

    void Go()
    {
        Simulator::Stop(PicoSeconds(m_case.Number("until")));
        rusage before;
        rusage after;
        getrusage(RUSAGE_SELF, &before);
        Simulator::Run();
        getrusage(RUSAGE_SELF, &after);
        m_cpu = Seconds(after) - Seconds(before);
        m_rss = after.ru_maxrss;
    }

    void Print() const
    {
        uint64_t marks = 0;
        uint64_t drops = m_deviceDrops;
        for (const auto& disc : m_discs)
        {
            const auto& stats = disc->GetStats();
            marks += stats.nTotalMarkedPackets;
            drops += stats.nTotalDroppedPackets;
        }
        std::cout << "{\"packet_hops\": " << m_hops << ", \"events\": " << Simulator::GetEventCount()
                  << ", \"sim_ps\": " << Simulator::Now().GetPicoSeconds() << ", \"drops\": " << drops
                  << ", \"losses\": " << m_losses << ", \"marks\": " << marks << ", \"cpu_s\": " << m_cpu
                  << ", \"rss_kib\": " << m_rss << ", \"flows\": [";
        const char* separator = "";
        for (const auto& flow : m_case.flows)
        {
            std::cout << separator << "{\"from\": " << flow.path.front()
                      << ", \"to\": " << flow.path.back() << ", \"bytes\": " << flow.bytes
                      << ", \"start_ps\": " << flow.start << ", \"connected_ps\": " << flow.connected
                      << ", \"finish_ps\": " << flow.finished
                      << ", \"segments\": " << flow.segments << "}";
            separator = ", ";
        }
        std::cout << "]}" << std::endl;
    }

  private:
    static double Seconds(const rusage& u)
    {
        return u.ru_utime.tv_sec + u.ru_stime.tv_sec +
               1e-6 * (u.ru_utime.tv_usec + u.ru_stime.tv_usec);
    }

    void SetDefaults()
    {
        const std::map<std::string, std::string> types = {{"reno", "ns3::TcpNewReno"},
                                                          {"cubic", "ns3::TcpCubic"},
                                                          {"dctcp", "ns3::TcpDctcp"},
                                                          {"reno-rfc", "TcpRenoRfc5681"},
                                                          {"cubic-rfc", "TcpCubicRfc9438"},
                                                          {"dctcp-rfc", "TcpDctcpRfc8257"}};
        const std::map<std::string, std::string> recoveries = {
            {"rfc6675", "ns3::TcpClassicRecovery"},
            {"prr", "ns3::TcpPrrRecovery"}};
        Config::SetDefault("ns3::TcpL4Protocol::SocketType",
                           TypeIdValue(TypeId::LookupByName(types.at(m_case.Text("congestion")))));
        Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                           TypeIdValue(TypeId::LookupByName(recoveries.at(m_case.Text("recovery")))));
        uint64_t buffer = m_case.Number("socket_buffer");
        Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(buffer));
        Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(buffer));
        Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(m_case.Number("segment")));
        Config::SetDefault("ns3::TcpSocket::InitialCwnd",
                           UintegerValue(m_case.Number("initial_window")));
        Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(m_case.Number("ack_every")));
        Config::SetDefault("ns3::TcpSocket::DelAckTimeout",
                           TimeValue(PicoSeconds(m_case.Number("delayed_ack"))));
        Config::SetDefault("ns3::TcpSocket::ConnTimeout",
                           TimeValue(PicoSeconds(m_case.Number("rto_initial"))));
        Config::SetDefault("ns3::RttEstimator::InitialEstimation",
                           TimeValue(PicoSeconds(m_case.Number("rto_initial"))));
        Config::SetDefault("ns3::TcpSocketBase::MinRto",
                           TimeValue(PicoSeconds(m_case.Number("rto_min"))));
        Config::SetDefault("ns3::TcpSocketBase::ClockGranularity",
                           TimeValue(PicoSeconds(m_case.Number("clock"))));
        Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(m_case.Flag("sack")));
        Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(m_case.Flag("timestamps")));
        Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit",
                           BooleanValue(m_case.Flag("limited_transmit")));
        Config::SetDefault("ns3::TcpSocketBase::UseEcn",
                           EnumValue(m_case.Flag("ecn") ? TcpSocketState::On : TcpSocketState::Off));
        Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(m_case.Flag("hystart")));
    }

    void BuildNodes()
    {
        m_nodes.Create(m_case.hosts + m_case.switches);
        InternetStackHelper stack;
        stack.SetIpv6StackInstall(false);
        stack.SetRoutingHelper(PathRoutingHelper());
        stack.Install(m_nodes);
        for (uint32_t i = 0; i < m_nodes.GetN(); i++)
        {
            auto protocol = m_nodes.Get(i)->GetObject<Ipv4>()->GetRoutingProtocol();
            m_routing.push_back(DynamicCast<PathRouting>(protocol));
        }
    }

    void BuildLink(const Link& link)
    {
        auto channel = CreateObject<PointToPointChannel>();
        channel->SetAttribute("Delay", TimeValue(PicoSeconds(link.delay)));
        BuildPort(link.a, link.b, link.rate, channel);
        BuildPort(link.b, link.a, link.rate, channel);
    }

    /// A host's port has an unlimited queue; a switch's holds `queue` packets besides the one that is
    /// being sent, and marks from `mark` waiting packets on when that is not 0.
    void BuildPort(uint32_t node, uint32_t peer, uint64_t rate, Ptr<PointToPointChannel> channel)
    {
        uint32_t limit = m_case.Number("queue");
        bool isHost = node < m_case.hosts;
        bool marks = !isHost && m_case.Number("mark") > 0;
        uint32_t inDevice = isHost ? 10000000 : (marks ? 1 : limit);

        auto queue = CreateObject<DropTailQueue<Packet>>();
        queue->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, inDevice));
        queue->TraceConnectWithoutContext("Drop", MakeCallback(&Run::CountDrop, this));
        auto device = CreateObject<PointToPointNetDevice>();
        device->SetAddress(Mac48Address::Allocate());
        device->SetDataRate(DataRate(rate));
        device->SetMtu(65535); // segments are sized by the case
        device->SetQueue(queue);
        device->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Run::CountHop, this));
        m_nodes.Get(node)->AddDevice(device);
        if (marks)
        {
            // Flow control between queue disc and device; without a disc, a full device queue drops.
            auto interface = CreateObject<NetDeviceQueueInterface>();
            interface->GetTxQueue(0)->ConnectQueueTraces(queue);
            device->AggregateObject(interface);
            InstallStepMarking(device, limit - inDevice);
        }
        device->Attach(channel);

        m_ports[{node, peer}] = device;
        auto ipv4 = m_nodes.Get(node)->GetObject<Ipv4>();
        uint32_t index = ipv4->AddInterface(device);
        ipv4->AddAddress(index, Ipv4InterfaceAddress(AddressOf(node), Ipv4Mask::GetOnes()));
        ipv4->SetUp(index);
    }

    void BuildLoss(const Loss& loss, Ptr<NetDevice> device)
    {
        auto model = CreateObject<RateErrorModel>();
        model->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
        model->SetRate(loss.probability);
        model->Disable();
        Simulator::Schedule(PicoSeconds(loss.start), &ErrorModel::Enable, model);
        DynamicCast<PointToPointNetDevice>(device)->SetReceiveErrorModel(model);
        device->TraceConnectWithoutContext("PhyRxDrop", MakeCallback(&Run::CountLoss, this));
    }

    /// RED without averaging and with equal thresholds is a step. A packet that arrives while `mark`
    /// or more wait is marked; one of them waits in the device's queue, out of RED's sight.
    void InstallStepMarking(Ptr<NetDevice> device, uint32_t limit)
    {
        double threshold = m_case.Number("mark") - 1;
        TrafficControlHelper helper;
        helper.SetRootQueueDisc("ns3::RedQueueDisc",
                                "MinTh",
                                DoubleValue(threshold),
                                "MaxTh",
                                DoubleValue(threshold),
                                "QW",
                                DoubleValue(1),
                                "Gentle",
                                BooleanValue(false),
                                "UseEcn",
                                BooleanValue(true),
                                "UseHardDrop",
                                BooleanValue(false),
                                "MaxSize",
                                QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, limit)));
        m_discs.push_back(helper.Install(device).Get(0));
    }

    void InstallPath(const std::vector<uint32_t>& path)
    {
        uint32_t from = path.front();
        uint32_t to = path.back();
        for (size_t i = 0; i + 1 < path.size(); i++)
        {
            m_routing[path[i]]->Add(from, to, m_ports.at({path[i], path[i + 1]}));
            m_routing[path[i + 1]]->Add(to, from, m_ports.at({path[i + 1], path[i]}));
        }
    }

    void BuildFlow(uint32_t index)
    {
        const auto& flow = m_case.flows[index];
        uint32_t to = flow.path.back();
        if (m_listeners.count(to) == 0)
        {
            auto listener = Socket::CreateSocket(m_nodes.Get(to), TcpSocketFactory::GetTypeId());
            listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
            listener->Listen();
            listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                        MakeCallback(&Run::Accept, this));
            m_listeners[to] = listener;
        }
        Simulator::Schedule(PicoSeconds(flow.start), &Run::Open, this, index);
    }

    void Open(uint32_t index)
    {
        const auto& flow = m_case.flows[index];
        uint32_t from = flow.path.front();
        auto socket = Socket::CreateSocket(m_nodes.Get(from), TcpSocketFactory::GetTypeId());
        socket->Bind();
        Address local;
        socket->GetSockName(local);
        m_flowOfClient[{from, InetSocketAddress::ConvertFrom(local).GetPort()}] = index;
        m_flowOfSocket[PeekPointer(socket)] = index;
        socket->SetConnectCallback(MakeCallback(&Run::Connected, this),
                                   MakeNullCallback<void, Ptr<Socket>>());
        if (m_case.Flag("count_segments"))
        {
            socket->TraceConnectWithoutContext("Tx", MakeCallback(&Run::CountSegment, this));
        }
        socket->Connect(InetSocketAddress(AddressOf(flow.path.back()), PORT));
    }

    void Connected(Ptr<Socket> socket)
    {
        auto& flow = m_case.flows[m_flowOfSocket.at(PeekPointer(socket))];
        flow.connected = Simulator::Now().GetPicoSeconds();
        int sent = socket->Send(Create<Packet>(flow.bytes), 0);
        NS_ABORT_MSG_IF(sent < 0 || uint64_t(sent) != flow.bytes, "the send buffer is too small");
        socket->Close();
    }

    void Accept(Ptr<Socket> socket, const Address& client)
    {
        auto address = InetSocketAddress::ConvertFrom(client);
        uint32_t index = m_flowOfClient.at({NodeOf(address.GetIpv4()), address.GetPort()});
        m_flowOfSocket[PeekPointer(socket)] = index;
        m_accepted.push_back(socket);
        socket->SetRecvCallback(MakeCallback(&Run::Receive, this));
    }

    void Receive(Ptr<Socket> socket)
    {
        auto& flow = m_case.flows[m_flowOfSocket.at(PeekPointer(socket))];
        while (auto packet = socket->Recv())
        {
            if (packet->GetSize() == 0)
            {
                break;
            }
            flow.received += packet->GetSize();
        }
        if (flow.received == flow.bytes && flow.finished < 0)
        {
            flow.finished = Simulator::Now().GetPicoSeconds();
            if (++m_done == m_case.flows.size())
            {
                Simulator::Stop();
            }
        }
    }

    void CountHop(Ptr<const Packet>)
    {
        m_hops++;
    }

    void CountDrop(Ptr<const Packet>)
    {
        m_deviceDrops++;
    }

    void CountLoss(Ptr<const Packet>)
    {
        m_losses++;
    }

    void CountSegment(Ptr<const Packet> packet, const TcpHeader&, Ptr<const TcpSocketBase> socket)
    {
        if (packet->GetSize() > 0)
        {
            auto key = static_cast<const Socket*>(PeekPointer(socket));
            m_case.flows[m_flowOfSocket.at(const_cast<Socket*>(key))].segments++;
        }
    }

    Case m_case;
    NodeContainer m_nodes;
    std::vector<Ptr<PathRouting>> m_routing;
    std::map<std::pair<uint32_t, uint32_t>, Ptr<NetDevice>> m_ports;
    std::vector<Ptr<QueueDisc>> m_discs;
    std::unordered_map<uint32_t, Ptr<Socket>> m_listeners;
    std::vector<Ptr<Socket>> m_accepted;
    std::map<std::pair<uint32_t, uint16_t>, uint32_t> m_flowOfClient;
    std::unordered_map<Socket*, uint32_t> m_flowOfSocket;
    uint64_t m_hops = 0;
    uint64_t m_deviceDrops = 0;
    uint64_t m_losses = 0;
    size_t m_done = 0;
    double m_cpu = 0;
    int64_t m_rss = 0;
};

} // namespace

int
main(int argc, char** argv)
{
    NS_ABORT_MSG_IF(argc != 2, "usage: driver CASE-FILE");
    Time::SetResolution(Time::PS);
    Case c = ReadCase(argv[1]);
    RngSeedManager::SetRun(c.Number("seed"));
    Run run(std::move(c));
    run.Go();
    run.Print();
    // The process ends here: Simulator::Destroy would only spend time on taking the model apart.
    std::cout.flush();
    _exit(0);
}
