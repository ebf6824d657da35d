//! Priority-based flow control of a switch: what can't be.

use fabric::{
    Buffer, Framing, LinkProps, PfcConfig, Scheduler, SwitchConfig, WatchdogConfig, Xoff, headroom_needed,
    pause_time,
};
use units::{Bytes, Problem, Rate};

/// A link of the switch: towards it, and from it.
pub(super) type Way = (LinkProps, LinkProps);

/// Refuses PFC that can't be on a switch with `links`.
pub(super) fn check(
    pfc: &PfcConfig,
    switch: &SwitchConfig,
    links: &[Way],
    framing: Framing,
) -> Result<(), Problem> {
    let Buffer::Shared { size, reserve, cell, .. } = switch.buffer else {
        return Err(Problem::whole("PFC counts memory that ports share: it needs a buffer of kind shared"));
    };
    if switch.scheduler == (Scheduler::Fifo {}) {
        let message = "PFC pauses single classes: it needs the scheduler ets, with a queue a class";
        return Err(Problem::whole(message));
    }
    if pfc.quanta == 0 {
        return Err(Problem::new("quanta", "0: 1 to 65535 are allowed"));
    }
    let needed = links.iter().map(|(to, back)| headroom_needed(*to, *back, framing, cell)).max();
    let needed = needed.unwrap_or(Bytes::new(0));
    if pfc.headroom.get() == 0 {
        let message =
            format!("0B: PFC without headroom loses what comes after XOFF; {needed} lose nothing here");
        return Err(Problem::new("headroom", message));
    }
    if pfc.classes == 0 {
        return Err(Problem::new("classes", "no class: at least one of 0 to 7 is lossless under PFC"));
    }
    check_xoff(pfc, size)?;
    if let Some(watchdog) = &pfc.watchdog {
        check_watchdog(watchdog, pfc.quanta, links).map_err(|problem| problem.within("watchdog"))?;
    }
    if pfc.headroom_pool.is_some_and(|pool| pool < pfc.headroom) {
        let message = format!("less than the headroom of one ingress port and class, {}", pfc.headroom);
        return Err(Problem::new("headroom_pool", message));
    }
    check_headroom(pfc, size, reserve, links.len())
}

/// Refuses headroom that leaves no memory to share, or less than XOFF.
fn check_headroom(pfc: &PfcConfig, size: Bytes, reserve: Bytes, ports: usize) -> Result<(), Problem> {
    let headroom = pfc.headroom_total(ports as u32);
    let reserved = reserve.get().saturating_mul(ports as u64 * 8);
    if headroom.get().saturating_add(reserved) >= size.get() {
        let message = format!(
            "{headroom} in all ({ports} ports, {} classes) and reserves of {} leave nothing of {size} to share: \
             take less, or a headroom_pool",
            pfc.classes.count_ones(),
            Bytes::new(reserved)
        );
        return Err(Problem::new("headroom", message));
    }
    let rest = size.get() - headroom.get();
    if matches!(pfc.xoff, Xoff::Static { limit } if limit.get() > rest) {
        let message =
            format!("above the {} that headroom leaves: no pause would come in time", Bytes::new(rest));
        return Err(Problem::new(["xoff", "limit"], message));
    }
    Ok(())
}

fn check_xoff(pfc: &PfcConfig, size: Bytes) -> Result<(), Problem> {
    let highest = match pfc.xoff {
        Xoff::Static { limit } => limit,
        // What one group can hold of the whole memory.
        Xoff::Dynamic { alpha } if alpha > 0.0 && alpha.is_finite() => {
            Bytes::new((alpha / (1.0 + alpha) * size.get() as f64) as u64)
        }
        Xoff::Dynamic { alpha } => {
            return Err(Problem::new(["xoff", "alpha"], format!("{alpha}: a number above 0 is needed")));
        }
    };
    if pfc.xon > highest {
        return Err(Problem::new("xon", format!("{} is above XOFF: at most {highest} is allowed", pfc.xon)));
    }
    Ok(())
}

fn check_watchdog(watchdog: &WatchdogConfig, quanta: u16, links: &[Way]) -> Result<(), Problem> {
    let WatchdogConfig { poll, detection, restoration, .. } = *watchdog;
    if poll.as_ps() == 0 {
        return Err(Problem::new("poll", "0s: a time above zero is needed"));
    }
    for (field, time) in [("detection", detection), ("restoration", restoration)] {
        if time < poll {
            return Err(Problem::new(field, format!("{time}: at least the poll interval, {poll}")));
        }
    }
    let slowest: Option<Rate> = links.iter().map(|(_, from)| from.rate).min();
    let pause = slowest.map(|rate| pause_time(rate, quanta)).unwrap_or_default();
    if detection < pause {
        let message = format!(
            "{detection} is shorter than one pause of {quanta} quanta at {}, {pause}: at least that",
            slowest.unwrap_or(Rate::from_gbps(1))
        );
        return Err(Problem::new("detection", message));
    }
    Ok(())
}
