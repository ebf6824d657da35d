//! From the settings of hosts to the simulator's: NIC, cores, disk and TCP.

use crate::names::last_match;
use crate::spec::{self, Scenario};
use fabric::Graph;
use rand::RngExt;
use sim::{HostConfig, rng};
use transport::tcp;
use units::{Problem, Time};

/// Cores of a host at most.
const CORES_MAX: u32 = 4096;
/// What a packet takes at a host, and a time slice, at most.
const PACKET_WAIT_MAX: Time = Time::from_secs(1);

/// The settings of every host, in order.
///
/// # Errors
/// A host that no rule matches, or a setting that can't be.
pub fn all(scenario: &Scenario, graph: &Graph) -> Result<Vec<HostConfig>, Problem> {
    let mut configs = Vec::with_capacity(graph.hosts());
    for name in graph.names().take(graph.hosts()) {
        let index = last_match(scenario.hosts.iter().map(|rule| &rule.pattern), name, "hosts")?;
        let path = format!("hosts[{index}].config");
        configs.push(host(&scenario.hosts[index].config, name, scenario.seed, &path)?);
    }
    Ok(configs)
}

fn host(config: &spec::Host, name: &str, seed: u64, path: &str) -> Result<HostConfig, Problem> {
    let mtu = config.mtu.get();
    if !(68..=65_535).contains(&mtu) {
        return Err(Problem::new(format!("{path}.mtu"), format!("{mtu} B: 68 B to 65535 B are allowed")));
    }
    if !(1..=CORES_MAX).contains(&config.cores) {
        let message = format!("{}: 1 to {CORES_MAX} are allowed", config.cores);
        return Err(Problem::new(format!("{path}.cores"), message));
    }
    if config.disk.as_bps() < 1_000 {
        return Err(Problem::new(format!("{path}.disk"), format!("{}: at least 1 kbps", config.disk)));
    }
    for (field, time) in [("packet_cost", config.packet_cost), ("time_slice", config.time_slice)] {
        if time > PACKET_WAIT_MAX {
            return Err(Problem::new(
                format!("{path}.{field}"),
                format!("{time}: at most {PACKET_WAIT_MAX}"),
            ));
        }
    }
    Ok(HostConfig {
        mtu: mtu as u32,
        nic_queue: config.nic_queue.get(),
        cores: config.cores,
        disk: config.disk,
        packet_cost: config.packet_cost,
        time_slice: config.time_slice,
        tcp: tcp(&config.tcp, name, seed, &format!("{path}.tcp"))?.into(),
    })
}

fn tcp(config: &spec::Tcp, host: &str, seed: u64, path: &str) -> Result<tcp::Config, Problem> {
    let problem = |field: &str, message: String| Err(Problem::new(format!("{path}.{field}"), message));
    let mut draw = rng::stream(seed, &format!("retransmission timers of {host}"));
    let mut span = |span: spec::Span, field: &str| match span {
        spec::Span::Fixed(time) => Ok(time),
        spec::Span::Uniform(from, to) if from <= to => {
            Ok(Time::from_ps(draw.random_range(from.as_ps()..=to.as_ps())))
        }
        spec::Span::Uniform(from, to) => Err(Problem::new(
            format!("{path}.{field}"),
            format!("from {from} to {to}: the first is the smaller"),
        )),
        spec::Span::AboveMin(_) => {
            Err(Problem::new(format!("{path}.{field}"), "only rto_max can be so much above rto_min"))
        }
    };
    let (rto_initial, rto_min) = (span(config.rto_initial, "rto_initial")?, span(config.rto_min, "rto_min")?);
    let rto_max = match config.rto_max {
        spec::Span::AboveMin(more) => rto_min.saturating_add(more),
        other => span(other, "rto_max")?,
    };
    let tick = config.clock_tick;
    let tick_phase = match tick.as_ps() {
        0 => Time::ZERO,
        ps => Time::from_ps(rng::stream(seed, &format!("clock of {host}")).random_range(0..ps)),
    };
    if rto_min > rto_max {
        return problem("rto_min", format!("{rto_min} is above rto_max, {rto_max}"));
    }
    if rto_min == Time::ZERO {
        return problem("rto_min", "0s: a retransmission timeout is above zero".into());
    }
    for (field, zero) in [
        ("initial_window", config.initial_window == 0),
        ("ack_every", config.ack_every == 0),
        ("receive_buffer", config.receive_buffer.get() == 0),
        ("send_buffer", config.send_buffer.get() == 0),
    ] {
        if zero {
            return problem(field, "0: at least 1".into());
        }
    }
    if config.fast_retransmit == Some(0) {
        return problem("fast_retransmit", "0: at least 1 duplicate, or none at all".into());
    }
    if config.rack && config.sack && config.fast_retransmit != Some(3) {
        return problem("fast_retransmit", "RACK counts no duplicates: it needs rack false".into());
    }
    if config.receive_buffer > config.receive_buffer_max {
        return problem("receive_buffer", format!("above receive_buffer_max, {}", config.receive_buffer_max));
    }
    if config.dctcp_shift > 16 {
        return problem("dctcp_shift", format!("{}: 0 to 16 are allowed", config.dctcp_shift));
    }
    Ok(tcp::Config {
        congestion: match config.congestion {
            spec::Congestion::Reno => tcp::Congestion::Reno,
            spec::Congestion::Cubic => tcp::Congestion::Cubic,
            spec::Congestion::Dctcp => tcp::Congestion::Dctcp,
            spec::Congestion::Htcp => tcp::Congestion::Htcp,
            spec::Congestion::Bbr => tcp::Congestion::Bbr,
        },
        ecn: match config.ecn {
            spec::Ecn::Off => tcp::EcnMode::Off,
            spec::Ecn::On => tcp::EcnMode::On,
            spec::Ecn::Passive => tcp::EcnMode::Passive,
        },
        ecn_fallback: config.ecn_fallback,
        sack: config.sack,
        rack: config.rack && config.sack,
        tail_loss_probe: config.tail_loss_probe && config.rack && config.sack,
        limited_transmit: config.limited_transmit,
        dup_thresh: config.fast_retransmit.unwrap_or(u32::MAX),
        timestamps: config.timestamps,
        mss: 0, // From the MTU, when the host is set up.
        initial_window: config.initial_window,
        hystart: config.hystart,
        rto_initial,
        rto_min,
        rto_max,
        tick,
        tick_phase,
        ack_every: config.ack_every,
        delayed_ack: config.delayed_ack,
        receive_buffer: config.receive_buffer.get(),
        receive_buffer_max: config.receive_buffer_max.get(),
        send_buffer: config.send_buffer.get(),
        dctcp_shift: config.dctcp_shift,
        htcp_rtt_scaling: config.htcp_rtt_scaling,
    })
}
