//! A simulated host's settings as those of a Linux kernel: the same scenario runs with either.

use crate::host::{Host, Setting};
use process::HostId;
use sim::HostConfig;
use std::time::Duration;
use transport::tcp::Congestion;
use transport::tcp::{EcnMode, Span};
use units::Time;

/// A congestion control that a run has registered, because this machine's kernel has none of that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// What scenarios call it.
    pub congestion: String,
    /// Its own setting: DCTCP's shift, or one for H-TCP that scales by round trips.
    pub parameter: u32,
    /// What the kernel calls it.
    pub name: String,
}

/// The guest that a host's settings ask for, without programs.
///
/// What a kernel can't be told keeps the kernel's own value: the delay of acknowledgements, HyStart's form,
/// the first retransmission timeout.
pub fn host(id: HostId, name: &str, config: &HostConfig, registered: &[Registered]) -> Host {
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
    let parameter = match tcp.congestion {
        Congestion::Dctcp => tcp.dctcp_shift,
        Congestion::Htcp => u32::from(tcp.htcp_rtt_scaling),
        Congestion::Reno | Congestion::Cubic | Congestion::Bbr => 0,
    };
    let own = registered.iter().find(|own| own.congestion == congestion && own.parameter == parameter);
    let settings: [(&str, String); 11] = [
        ("tcp_congestion_control", own.map_or(congestion, |own| &own.name).into()),
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
        _ if own.is_some() => None,
        Congestion::Cubic => Some(("tcp_cubic/parameters/hystart", flag(tcp.hystart).to_owned())),
        Congestion::Dctcp => Some(("tcp_dctcp/parameters/dctcp_shift_g", parameter.to_string())),
        Congestion::Htcp => Some(("tcp_htcp/parameters/use_rtt_scaling", parameter.to_string())),
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
        receive_ring: kernel.receive_ring,
        gso: kernel.gso,
        tso: kernel.tso,
        cpu_rate: kernel.cpu_rate,
        patience: Duration::from_micros(kernel.patience.as_us()),
        memory: kernel.memory.div_ceil(1 << 20) as u32,
        settings: ours.chain(module).chain(theirs).collect(),
        route: format!("initcwnd {}", tcp.initial_window),
        seen: Vec::new(),
        programs: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use transport::tcp::Config;

    #[test]
    fn a_registered_congestion_control_takes_the_kernels_place() {
        let tcp = Config { congestion: Congestion::Dctcp, ..Config::default() };
        let config = HostConfig { tcp: tcp.into(), ..HostConfig::default() };
        let own = Registered { congestion: "dctcp".into(), parameter: 4, name: "incast_dctcp".into() };
        let other = Registered { parameter: 5, name: "incast_dctcp2".into(), ..own.clone() };
        let congestion = |registered: &[Registered]| {
            let settings = host(HostId(0), "a", &config, registered).settings;
            let module = settings.iter().any(|setting| setting.name.starts_with("tcp_dctcp/"));
            (settings[0].value.clone(), module)
        };
        assert_eq!(congestion(&[other.clone(), own]), ("incast_dctcp".into(), false));
        assert_eq!(congestion(&[other]), ("dctcp".into(), true), "another setting is another program");
    }
}
