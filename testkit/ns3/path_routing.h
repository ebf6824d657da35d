// Routing by the paths that a case gives.

#pragma once

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"

#include <unordered_map>

using namespace ns3;

constexpr uint32_t FIRST_ADDRESS = 0x0a000001; // 10.0.0.1, the address of node 0

inline Ipv4Address
AddressOf(uint32_t node)
{
    return Ipv4Address(FIRST_ADDRESS + node);
}

inline uint32_t
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
