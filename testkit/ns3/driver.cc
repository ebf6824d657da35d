// Runs one case in ns-3 and prints what happened as JSON.
//
// It is the other side of the benchmarks (benches/run.py) and of the differential tests
// (tests/differential). It is not a general ns-3 front end: hosts speak TCP over point-to-point
// links through switches whose ports mark at a step or drop at the tail, and every flow's path is
// given, so that both simulators carry the same packets over the same links.
//
// Usage: driver CASE-FILE. The format of the file is documented in case_file.py, which writes it.
// Times are picoseconds, sizes bytes, rates bits per second.

#include "case.h"
#include "path_routing.h"
#include "rfc_controls.h"

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <sys/resource.h>
#include <unistd.h>

#include <iostream>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace
{

constexpr uint16_t PORT = 5000;

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
            InstallPath(flow.back);
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
                  << ", \"flows\": [";
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

    TypeId ControlType() const
    {
        const std::map<std::string, std::string> types = {{"reno", "ns3::TcpNewReno"},
                                                          {"cubic", "ns3::TcpCubic"},
                                                          {"dctcp", "ns3::TcpDctcp"},
                                                          {"htcp-rfc", "ns3::TcpHtcp"},
                                                          {"bbr-rfc", "ns3::TcpBbr"},
                                                          {"reno-rfc", "TcpRenoRfc5681"},
                                                          {"cubic-rfc", "TcpCubicRfc9438"},
                                                          {"dctcp-rfc", "TcpDctcpRfc8257"}};
        std::string name = m_case.Text("congestion");
        return TypeId::LookupByName(types.at(PutsPipeRight() ? name.substr(0, name.rfind("-pipe")) : name));
    }

    /// Whether ns-3's pipe and its hearing of marks are put right too.
    bool PutsPipeRight() const
    {
        return m_case.Text("congestion").find("-pipe") != std::string::npos;
    }

    void SetDefaults()
    {
        const std::map<std::string, std::string> recoveries = {
            {"rfc6675", "ns3::TcpClassicRecovery"},
            {"prr", "ns3::TcpPrrRecovery"}};
        Config::SetDefault("ns3::TcpL4Protocol::SocketType",
                           TypeIdValue(ControlType()));
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
        // What paces is not to be limited by anything else (its default is 4 Gb/s).
        Config::SetDefault("ns3::TcpSocketState::MaxPacingRate", DataRateValue(DataRate("400Gbps")));
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
        if (PutsPipeRight())
        {
            WatchPipe(DynamicCast<TcpSocketBase>(socket));
        }
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

    /// A control of ours is created here, to be told of the buffer that holds its socket's pipe.
    void WatchPipe(Ptr<TcpSocketBase> socket)
    {
        ObjectFactory factory;
        factory.SetTypeId(ControlType());
        auto control = factory.Create<TcpCongestionOps>();
        dynamic_cast<Rfc6675Pipe&>(*control).Watch(socket->GetTxBuffer());
        socket->SetCongestionControlAlgorithm(control);
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
        if (PutsPipeRight())
        {
            HearNextMark(*DynamicCast<TcpSocketBase>(socket));
            socket->TraceConnectWithoutContext("Rx", MakeCallback(&Run::Heard));
        }
        socket->SetRecvCallback(MakeCallback(&Run::Receive, this));
    }

    static void Heard(Ptr<const Packet>, const TcpHeader&, Ptr<const TcpSocketBase> receiver)
    {
        HearNextMark(*const_cast<TcpSocketBase*>(PeekPointer(receiver)));
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
