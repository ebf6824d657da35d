//! A simulated host's settings as those of a Linux kernel: the same scenario runs with either.

use crate::host::{Host, Setting};
use process::HostId;
use sim::HostConfig;
use std::time::Duration;
use transport::tcp::Congestion;
use transport::tcp::{EcnMode, Span};
use units::Time;

/// The guest that a host's settings ask for, without programs.
///
/// What a kernel can't be told keeps the kernel's own value: the delay of acknowledgements, HyStart's form,
/// the first retransmission timeout.
pub fn host(id: HostId, name: &str, config: &HostConfig) -> Host {
    let (tcp, kernel) = (&config.tcp, &config.kernel);
    let congestion = match tcp.congestion {
        Congestion::Reno => "reno",
        Congestion::Cubic => "cubic",
        Congestion::Dctcp => "dctcp",
        Congestion::Htcp => "htcp",
        Congestion::Bbr => "bbr",
    };
    let ecn = match tcp.ecn {
        EcnMode::Off => "0",
        EcnMode::On => "1",
        EcnMode::Passive => "2",
    };
    let flag = |on: bool| if on { "1" } else { "0" };
    let rto_min = match tcp.rto_min {
        Span::Fixed(time) => time,
        Span::Uniform(..) | Span::AboveMin(_) => Time::from_ms(200),
    };
    let settings: [(&str, String); 11] = [
        ("tcp_congestion_control", congestion.into()),
        ("tcp_ecn", ecn.into()),
        ("tcp_ecn_fallback", flag(tcp.ecn_fallback).into()),
        ("tcp_sack", flag(tcp.sack).into()),
        ("tcp_recovery", flag(tcp.rack).into()),
        ("tcp_early_retrans", if tcp.tail_loss_probe { "3" } else { "0" }.into()),
        ("tcp_timestamps", flag(tcp.timestamps).into()),
        ("tcp_rmem", format!("4096 {} {}", tcp.receive_buffer, tcp.receive_buffer_max)),
        ("tcp_wmem", format!("4096 16384 {}", tcp.send_buffer)),
        ("tcp_rto_min_us", rto_min.as_us().max(1).to_string()),
        // Connections know nothing of others before them.
        ("tcp_no_metrics_save", "1".into()),
    ];
    let module = match tcp.congestion {
        Congestion::Cubic => Some(("tcp_cubic/parameters/hystart", flag(tcp.hystart).to_owned())),
        Congestion::Dctcp => Some(("tcp_dctcp/parameters/dctcp_shift_g", tcp.dctcp_shift.to_string())),
        Congestion::Htcp => {
            Some(("tcp_htcp/parameters/use_rtt_scaling", flag(tcp.htcp_rtt_scaling).to_owned()))
        }
        Congestion::Reno | Congestion::Bbr => None,
    };
    let ours = settings.into_iter().map(|(key, value)| Setting::sysctl(&format!("net.ipv4.{key}"), &value));
    let module = module.map(|(key, value)| Setting::module(key, &value));
    let theirs = kernel.sysctl.iter().map(|(key, value)| Setting::sysctl(key, value));
    Host {
        id,
        name: name.to_owned(),
        mtu: config.mtu.min(u32::from(u16::MAX)) as u16,
        moderation: kernel.moderation,
        gso: kernel.gso,
        tso: kernel.tso,
        cpu_rate: kernel.cpu_rate,
        patience: Duration::from_micros(kernel.patience.as_us()),
        memory: kernel.memory.div_ceil(1 << 20) as u32,
        settings: ours.chain(module).chain(theirs).collect(),
        route: format!("initcwnd {}", tcp.initial_window),
        programs: Vec::new(),
    }
}
