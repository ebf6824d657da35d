// ns-3's congestion controls with the reduction of the window and the pipe that their RFCs ask for.
//
// For the differential tests only: the benchmarks take ns-3's own.

#pragma once

#include "ns3/core-module.h"
#include "ns3/internet-module.h"

#include <algorithm>
#include <list>

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

// What must be put right below is private in ns-3. An explicit instantiation may name it.
struct SentList
{
    using Member = std::list<TcpTxItem*> TcpTxBuffer::*;
    friend Member Access(SentList);
};

struct RetransmittedBytes
{
    using Member = uint32_t TcpTxBuffer::*;
    friend Member Access(RetransmittedBytes);
};

struct LastMarked
{
    using Member = TracedValue<SequenceNumber32> TcpSocketBase::*;
    friend Member Access(LastMarked);
};

template <class Name, typename Name::Member member>
struct Private
{
    friend typename Name::Member Access(Name)
    {
        return member;
    }
};

template struct Private<SentList, &TcpTxBuffer::m_sentList>;
template struct Private<RetransmittedBytes, &TcpTxBuffer::m_retrans>;
template struct Private<LastMarked, &TcpSocketBase::m_ecnCESeq>;

/// Every segment says whether it was marked (RFC 3168, section 6.1.3; RFC 8257, section 3.2). ns-3 takes marked ones
/// for unmarked unless their sequence number is above that of the last marked one: the first data segment, whose
/// number the handshake's acknowledgement had, and all retransmissions. To be called after each segment.
inline void
HearNextMark(TcpSocketBase& receiver)
{
    receiver.*Access(LastMarked{}) = SequenceNumber32(0);
}

/// Takes retransmissions that the peer has SACKed out of the pipe: SetPipe of RFC 6675 (section 4) counts octets
/// that have not been SACKed. ns-3 leaves them in until they are cumulatively acknowledged, so its pipe fills with
/// what has arrived, and the sender falls silent in recovery.
class Rfc6675Pipe
{
  public:
    virtual ~Rfc6675Pipe() = default;

    void Watch(Ptr<TcpTxBuffer> buffer)
    {
        m_buffer = buffer;
    }

  protected:
    void TakeOutSacked()
    {
        if (!m_buffer)
        {
            return;
        }
        TcpTxBuffer& buffer = *m_buffer;
        for (TcpTxItem* item : buffer.*Access(SentList{}))
        {
            if (item->m_retrans && item->IsSacked())
            {
                item->m_retrans = false;
                buffer.*Access(RetransmittedBytes{}) -= item->GetPacket()->GetSize();
            }
        }
    }

  private:
    Ptr<TcpTxBuffer> m_buffer;
};

/// A congestion control whose sender has that pipe. ns-3 calls PktsAcked for each acknowledgement, after it has read
/// the SACK blocks and before it sends.
template <class Control>
class WithRfc6675Pipe : public Control, public Rfc6675Pipe
{
  public:
    void PktsAcked(Ptr<TcpSocketState> state, uint32_t segments, const Time& rtt) override
    {
        TakeOutSacked();
        Control::PktsAcked(state, segments, rtt);
    }
};

class TcpRenoRfc5681 : public WithRfc6675Pipe<TcpNewReno>
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

class TcpCubicRfc9438 : public WithRfc6675Pipe<TcpCubic>
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
class TcpDctcpRfc8257 : public WithRfc6675Pipe<TcpDctcp>
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
