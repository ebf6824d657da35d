// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// DCTCP for hosts of a real clock whose kernel has none: both the sender's and the receiver's part.
//
// The sender estimates the marked share once a window and shrinks the window by half of it; the window grows
// as Reno's does. Names and fixed point are those of crates/transport/src/cc/dctcp.rs.
// Source: RFC 8257 3.2 (receiver), 3.3 (estimation and reaction), 3.4 (loss), 4.2 (alpha starts at one).
#include "congestion.h"

/* Alpha of one, in fixed point. */
#define ONE (1U << 20)

/* The estimation gain g is 2^-shift. */
const volatile __u32 parameter = 4;

extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;

struct dctcp {
	__u32 alpha;
	__u32 window_end;
	/* The kernel's counters of acknowledged and of marked segments when the window began. */
	__u32 delivered;
	__u32 delivered_ce;
	/* The window before the last loss, for its undoing. */
	__u32 loss_cwnd;
	/* The receiver's DCTCP.CE, and what was next to be received when the last packet came. */
	__u32 prior_rcv_nxt;
	__u32 ce;
};

static struct dctcp *dctcp_of(struct sock *sk)
{
	return (struct dctcp *)inet_csk(sk)->icsk_ca_priv;
}

static void begin_window(const struct tcp_sock *tp, struct dctcp *ca)
{
	ca->window_end = tp->snd_nxt;
	ca->delivered = tp->delivered;
	ca->delivered_ce = tp->delivered_ce;
}

SEC("struct_ops/dctcp_init")
void BPF_PROG(dctcp_init, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp *ca = dctcp_of(sk);
	char reno[] = "reno";

	/* Without ECN the marks would come back to nobody: Reno then, and packets that can't be marked. */
	if (!(tp->ecn_flags & TCP_ECN_OK) && sk->__sk_common.skc_state == TCP_ESTABLISHED) {
		bpf_setsockopt(sk, IPPROTO_TCP, TCP_CONGESTION, reno, sizeof(reno));
		return;
	}
	ca->alpha = ONE;
	ca->loss_cwnd = 0;
	ca->prior_rcv_nxt = tp->rcv_nxt;
	ca->ce = 0;
	begin_window(tp, ca);
}

/* 3.3: alpha = (1 - g) alpha + g M, once a window. */
SEC("struct_ops/dctcp_in_ack_event")
void BPF_PROG(dctcp_in_ack_event, struct sock *sk, __u32 flags)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp *ca = dctcp_of(sk);
	__u32 shift = parameter & 15, acked, alpha = ca->alpha;
	__u64 marked;

	/* Sequence numbers wrap around. */
	if ((__s32)(tp->snd_una - ca->window_end) <= 0)
		return;
	acked = tp->delivered - ca->delivered;
	marked = (__u64)(tp->delivered_ce - ca->delivered_ce) << 20;
	marked = acked ? marked / acked : 0;
	if (marked > ONE)
		marked = ONE;
	/* Rounded up on the way down, so that alpha reaches zero. */
	alpha -= (alpha + (1U << shift) - 1) >> shift;
	alpha += (__u32)marked >> shift;
	ca->alpha = alpha < ONE ? alpha : ONE;
	begin_window(tp, ca);
}

/* 3.3: cwnd (1 - alpha / 2), after marks. What a loss does comes after it. */
SEC("struct_ops/dctcp_ssthresh")
__u32 BPF_PROG(dctcp_ssthresh, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp *ca = dctcp_of(sk);
	__u32 cwnd = tp->snd_cwnd;

	ca->loss_cwnd = cwnd;
	return at_least_two(cwnd - (__u32)(((__u64)cwnd * ca->alpha) >> 21));
}

/* 3.4: a loss halves, whatever alpha is. */
static void halve(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp *ca = dctcp_of(sk);

	ca->loss_cwnd = tp->snd_cwnd;
	tp->snd_ssthresh = at_least_two(tp->snd_cwnd / 2);
}

SEC("struct_ops/dctcp_set_state")
void BPF_PROG(dctcp_set_state, struct sock *sk, __u8 state)
{
	if (state == TCP_CA_Recovery && inet_csk(sk)->icsk_ca_state != TCP_CA_Recovery)
		halve(sk);
}

/* 3.2: when CE changes, the receiver at once acknowledges the earlier packets with the former ECE, and the
 * packet that changed it with the new one. */
static void change_ce(struct sock *sk, __u32 ce)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp *ca = dctcp_of(sk);

	if (ca->ce != ce) {
		if (icsk->icsk_ack.pending & ICSK_ACK_TIMER) {
			tp->ecn_flags = ca->ce ? tp->ecn_flags | TCP_ECN_DEMAND_CWR
					       : tp->ecn_flags & ~TCP_ECN_DEMAND_CWR;
			bpf_tcp_send_ack(tp, ca->prior_rcv_nxt);
		}
		icsk->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	ca->prior_rcv_nxt = tp->rcv_nxt;
	ca->ce = ce;
	tp->ecn_flags = ce ? tp->ecn_flags | TCP_ECN_DEMAND_CWR : tp->ecn_flags & ~TCP_ECN_DEMAND_CWR;
}

SEC("struct_ops/dctcp_cwnd_event")
void BPF_PROG(dctcp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_ECN_IS_CE)
		change_ce(sk, 1);
	else if (event == CA_EVENT_ECN_NO_CE)
		change_ce(sk, 0);
	else if (event == CA_EVENT_LOSS)
		halve(sk);
}

SEC("struct_ops/dctcp_undo_cwnd")
__u32 BPF_PROG(dctcp_undo_cwnd, struct sock *sk)
{
	return larger(tcp_sk(sk)->snd_cwnd, dctcp_of(sk)->loss_cwnd);
}

SEC("struct_ops/dctcp_cong_avoid")
void BPF_PROG(dctcp_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

SEC(".struct_ops")
struct tcp_congestion_ops congestion_control = {
	.init = (void *)dctcp_init,
	.in_ack_event = (void *)dctcp_in_ack_event,
	.ssthresh = (void *)dctcp_ssthresh,
	.set_state = (void *)dctcp_set_state,
	.cwnd_event = (void *)dctcp_cwnd_event,
	.undo_cwnd = (void *)dctcp_undo_cwnd,
	.cong_avoid = (void *)dctcp_cong_avoid,
	.flags = TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN,
	.name = NAME,
};
