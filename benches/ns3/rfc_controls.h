// ns-3's congestion controls with the reduction of the window that their RFCs ask for.
//
// For the differential tests only: the benchmarks take ns-3's own.

#pragma once

#include "ns3/core-module.h"
#include "ns3/internet-module.h"

#include <algorithm>

using namespace ns3;

/// Data sent and not cumulatively acknowledged, at most the window: what RFC 5681 (equation 4), RFC 6675
/// (step 4.2) and RFC 9438 (section 4.6) take for the reduction after loss. ns-3 takes what is left of it
/// without the segments thought lost or known to have arrived (Reno), or the window (CUBIC).
inline uint32_t
FlightSize(Ptr<const TcpSocketState> state)
{
    uint32_t flight = state->m_highTxMark.Get() - state->m_lastAckedSeq;
    return std::min(flight, state->m_cWnd.Get());
}

inline uint32_t
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
