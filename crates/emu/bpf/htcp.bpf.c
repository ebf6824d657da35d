// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// H-TCP for hosts of a real clock whose kernel has none.
//
// The increase grows with the time since the last congestion, the decrease follows the queue. Names and fixed
// point are those of crates/transport/src/cc/htcp.rs, which also says where Linux is narrower than the draft.
// Source: draft-leith-tcp-htcp-06: alpha, adaptive backoff with its throughput rule, scaling by round trips.
#include "congestion.h"

/* One, in fixed point. */
#define ONE (1U << 10)
/* The least and greatest beta: 0.5 and 0.8. */
#define BETA_MIN (ONE / 2)
#define BETA_MAX (ONE * 4 / 5)
/* Delta_L: so long after a congestion the increase is Reno's. This and all other times are in microseconds. */
#define DELTA_L 1000000
/* The round-trip time at which scaling changes nothing. */
#define RTT_REFERENCE 100000
/* Adaptive backoff needs a least round trip above it. */
#define ADAPTS_ABOVE 10000
/* The greatest round trip seen rises by at most so much a sample. */
#define RTT_STEP 20000
/* After a congestion the throughput of so many round trips is taken without averaging. */
#define SETTLING_ROUNDS 3

/* Whether the increase is scaled by the round-trip time. */
const volatile __u32 parameter = 1;

extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) __ksym;

struct htcp {
	__u64 last_congestion;
	/* Segments delivered times alpha, not yet given. */
	__u64 credit;
	/* Throughput between congestions, in segments per second: its average, the greatest average since the
	 * last congestion and that of the time before, B(k + 1) and B(k). */
	__u64 since;
	__u32 delivered;
	__u32 average;
	__u32 max;
	__u32 max_before;
	__u32 alpha;
	__u32 beta;
	__u32 rtt_min;
	__u32 rtt_max;
	/* The window before the last congestion, for its undoing. */
	__u32 loss_cwnd;
	/* Adaptive backoff was possible at the last congestion too. */
	__u8 adapts;
	/* A reduction has taken place and recovery is not yet over. */
	__u8 congested;
};

static struct htcp *htcp_of(struct sock *sk)
{
	return (struct htcp *)inet_csk(sk)->icsk_ca_priv;
}

/* f(Delta) = 1 + 10 (Delta - Delta_L) + ((Delta - Delta_L) / 2)^2 after Delta_L, in seconds; one before. */
static __u64 increase(__u64 delta)
{
	__u64 d = delta > DELTA_L ? (delta - DELTA_L) * ONE / 1000000 : 0;

	return ONE + 10 * d + d * d / (4 * ONE);
}

/* alpha = 2 (1 - beta) f(Delta), f scaled by the round-trip time between a tenth and twice. */
static __u32 alpha_after(const struct htcp *ca, __u64 delta)
{
	__u64 factor = increase(delta);

	if (parameter && ca->rtt_min != ~0U) {
		__u64 scale = (__u64)ca->rtt_min * ONE / RTT_REFERENCE;

		if (scale < ONE / 10)
			scale = ONE / 10;
		if (scale > 2 * ONE)
			scale = 2 * ONE;
		factor = factor * scale / ONE;
		if (factor < ONE)
			factor = ONE;
	}
	return 2 * (ONE - ca->beta) * factor / ONE;
}

SEC("struct_ops/htcp_init")
void BPF_PROG(htcp_init, struct sock *sk)
{
	struct htcp *ca = htcp_of(sk);

	__builtin_memset(ca, 0, sizeof(*ca));
	ca->alpha = ONE;
	ca->beta = BETA_MIN;
	ca->rtt_min = ~0U;
	ca->last_congestion = tcp_sk(sk)->tcp_mstamp;
	ca->since = ca->last_congestion;
}

/* Takes a sample of the throughput over a window. */
static void take_throughput(struct htcp *ca, __u64 now, __u64 elapsed)
{
	__u64 sample = (__u64)ca->delivered * 1000000 / (elapsed ? elapsed : 1);
	__u64 rounds = (now - ca->last_congestion) / (ca->rtt_min ? ca->rtt_min : 1);

	if (rounds <= SETTLING_ROUNDS) {
		ca->average = sample;
		ca->max = sample;
	} else {
		ca->average = (3 * (__u64)ca->average + sample) / 4;
		ca->max = larger(ca->max, ca->average);
	}
	ca->delivered = 0;
	ca->since = now;
}

/* Measures round trips and throughput. */
SEC("struct_ops/htcp_pkts_acked")
void BPF_PROG(htcp_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct htcp *ca = htcp_of(sk);
	__u8 state = inet_csk(sk)->icsk_ca_state;
	bool open = state == TCP_CA_Open || state == TCP_CA_Disorder;
	__u64 now = tp->tcp_mstamp, elapsed;
	__s32 rtt_us = sample->rtt_us;

	if (rtt_us > 0) {
		__u32 rtt = rtt_us;

		if (rtt < ca->rtt_min)
			ca->rtt_min = rtt;
		ca->rtt_max = larger(ca->rtt_max, ca->rtt_min);
		if (open && rtt <= ca->rtt_max + RTT_STEP)
			ca->rtt_max = larger(ca->rtt_max, rtt);
	}
	if (!open) {
		ca->delivered = 0;
		ca->since = now;
		return;
	}
	if (ca->congested) {
		ca->congested = 0;
		ca->last_congestion = now;
	}
	ca->delivered += sample->pkts_acked;
	elapsed = now - ca->since;
	if (ca->delivered + larger(ca->alpha, ONE) / ONE >= tp->snd_cwnd && elapsed >= ca->rtt_min)
		take_throughput(ca, now, elapsed);
}

/* beta = RTTmin / RTTmax between its bounds, or 1/2 when |B(k + 1) - B(k)| > 0.2 B(k). */
static void update_beta(struct htcp *ca)
{
	__u64 before = ca->max_before;
	__u64 change = ca->max > before ? ca->max - before : before - ca->max;

	ca->max_before = ca->max;
	ca->beta = BETA_MIN;
	if (5 * change > before) {
		ca->adapts = 0;
	} else if (ca->adapts && ca->rtt_max && ca->rtt_min > ADAPTS_ABOVE) {
		__u64 ratio = (__u64)ca->rtt_min * ONE / ca->rtt_max;

		if (ratio > BETA_MIN)
			ca->beta = ratio < BETA_MAX ? ratio : BETA_MAX;
	} else {
		ca->adapts = 1;
	}
}

/* A congestion: works out beta and starts alpha again. */
SEC("struct_ops/htcp_ssthresh")
__u32 BPF_PROG(htcp_ssthresh, struct sock *sk)
{
	__u32 cwnd = tcp_sk(sk)->snd_cwnd;
	struct htcp *ca = htcp_of(sk);

	update_beta(ca);
	ca->congested = 1;
	ca->credit = 0;
	ca->loss_cwnd = cwnd;
	ca->alpha = alpha_after(ca, 0);
	if (ca->rtt_max > ca->rtt_min)
		ca->rtt_max = ca->rtt_min + (__u64)(ca->rtt_max - ca->rtt_min) * 95 / 100;
	return at_least_two((__u64)cwnd * ca->beta / ONE);
}

/* RFC 7661's rule, as in the kernel: a window that is not used does not grow. */
static bool is_limited(const struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return true;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* Grows the window by alpha segments for each window of segments delivered. */
SEC("struct_ops/htcp_cong_avoid")
void BPF_PROG(htcp_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct htcp *ca = htcp_of(sk);
	__u64 segments, window;

	if (!is_limited(tp))
		return;
	if (tp->snd_cwnd < tp->snd_ssthresh) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	ca->credit += (__u64)acked * ca->alpha;
	window = (__u64)tp->snd_cwnd * ONE;
	if (!window || ca->credit < window)
		return;
	segments = ca->credit / window;
	ca->credit %= window;
	/* Never faster than slow start. */
	segments = tp->snd_cwnd + (segments < acked ? segments : acked);
	tp->snd_cwnd = segments < tp->snd_cwnd_clamp ? segments : tp->snd_cwnd_clamp;
	ca->alpha = alpha_after(ca, tp->tcp_mstamp - ca->last_congestion);
}

SEC("struct_ops/htcp_undo_cwnd")
__u32 BPF_PROG(htcp_undo_cwnd, struct sock *sk)
{
	return larger(tcp_sk(sk)->snd_cwnd, htcp_of(sk)->loss_cwnd);
}

SEC(".struct_ops")
struct tcp_congestion_ops congestion_control = {
	.init = (void *)htcp_init,
	.pkts_acked = (void *)htcp_pkts_acked,
	.ssthresh = (void *)htcp_ssthresh,
	.cong_avoid = (void *)htcp_cong_avoid,
	.undo_cwnd = (void *)htcp_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = NAME,
};
