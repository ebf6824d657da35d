/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What both congestion controls need of the kernel. vmlinux.h is the kernel's types (packaging/bpf.py). */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* A run writes a name of its own there when it registers the program (python/incast/emu/congestion.py). */
#define NAME "@incast-name@"

/* Macros of the kernel, which its BTF does not have (include/net/tcp.h). */
#define TCP_CONG_NON_RESTRICTED 1
#define TCP_CONG_NEEDS_ECN 2
#define TCP_ECN_OK 1
#define TCP_ECN_DEMAND_CWR 4
/* Of linux/tcp.h: the name of a congestion control. */
#define TCP_CONGESTION 13

/* The kernel lends what it keeps for programs under GPL to programs that may be had under it. */
char _license[] SEC("license") = "Dual MIT/GPL";

static __always_inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline struct inet_connection_sock *inet_csk(const struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}

static __always_inline __u32 at_least_two(__u32 cwnd)
{
	return cwnd > 2 ? cwnd : 2;
}

static __always_inline __u32 larger(__u32 a, __u32 b)
{
	return a > b ? a : b;
}
