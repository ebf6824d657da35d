//! Priority-based flow control of a switch: from plain data, and what can't be.

use crate::spec;
use fabric::{
    Buffer, Framing, LinkProps, PfcConfig, Scheduler, WatchdogAction, WatchdogConfig, Xoff, headroom_needed,
    pause_time,
};
use units::{Bytes, Problem, Rate};

/// A link of the switch: towards it, and from it.
pub(super) type Way = (LinkProps, LinkProps);

/// The settings of a switch with `links`, whose other settings are known.
pub(super) fn pfc(
    pfc: &spec::Pfc,
    buffer: &Buffer,
    scheduler: &Scheduler,
    links: &[Way],
    framing: Framing,
    path: &str,
) -> Result<PfcConfig, Problem> {
    let problem = |field: &str, message: String| Problem::new(format!("{path}{field}"), message);
    let Buffer::Shared { size, reserve, cell, .. } = *buffer else {
        let message = "PFC counts memory that ports share: it needs a buffer of kind shared";
        return Err(problem("", message.into()));
    };
    if *scheduler == Scheduler::Fifo {
        let message = "PFC pauses single classes: it needs the scheduler ets, with a queue a class";
        return Err(problem("", message.into()));
    }
    if pfc.quanta == 0 {
        return Err(problem(".quanta", "0: 1 to 65535 are allowed".into()));
    }
    let needed = links.iter().map(|(to, back)| headroom_needed(*to, *back, framing, cell)).max();
    let needed = needed.unwrap_or(Bytes::new(0));
    if pfc.headroom.get() == 0 {
        let message =
            format!("0B: PFC without headroom loses what comes after XOFF; {needed} lose nothing here");
        return Err(problem(".headroom", message));
    }
    let config = PfcConfig {
        classes: classes(&pfc.classes, &problem)?,
        xoff: xoff(pfc, size, &problem)?,
        xon: pfc.xon,
        headroom: pfc.headroom,
        headroom_pool: pfc.headroom_pool,
        quanta: pfc.quanta,
        watchdog: pfc.watchdog.map(|found| watchdog(found, pfc.quanta, links, &problem)).transpose()?,
    };
    if pfc.headroom_pool.is_some_and(|pool| pool < pfc.headroom) {
        let message = format!("less than the headroom of one ingress port and class, {}", pfc.headroom);
        return Err(problem(".headroom_pool", message));
    }
    let headroom = config.headroom_total(links.len() as u32);
    let reserved = reserve.get().saturating_mul(links.len() as u64 * 8);
    if headroom.get().saturating_add(reserved) >= size.get() {
        let message = format!(
            "{headroom} in all ({} ports, {} classes) and reserves of {} leave nothing of {size} to share: \
             take less, or a headroom_pool",
            links.len(),
            pfc.classes.len(),
            Bytes::new(reserved)
        );
        return Err(problem(".headroom", message));
    }
    let rest = size.get() - headroom.get();
    if matches!(config.xoff, Xoff::Static(limit) if limit.get() > rest) {
        let message =
            format!("above the {} that headroom leaves: no pause would come in time", Bytes::new(rest));
        return Err(problem(".xoff.limit", message));
    }
    Ok(config)
}

fn classes(classes: &[u8], problem: &impl Fn(&str, String) -> Problem) -> Result<u8, Problem> {
    let mut mask = 0u8;
    for (index, class) in classes.iter().enumerate() {
        let bit = 1u8.checked_shl(u32::from(*class)).filter(|_| *class < 8);
        let bit = bit.ok_or_else(|| {
            problem(&format!(".classes[{index}]"), format!("class {class}: 0 to 7 are allowed"))
        })?;
        mask |= bit;
    }
    if mask == 0 {
        return Err(problem(".classes", "no class: at least one of 0 to 7 is lossless under PFC".into()));
    }
    Ok(mask)
}

fn xoff(pfc: &spec::Pfc, size: Bytes, problem: &impl Fn(&str, String) -> Problem) -> Result<Xoff, Problem> {
    let (xoff, highest) = match pfc.xoff {
        spec::Xoff::Static { limit } => (Xoff::Static(limit), limit),
        spec::Xoff::Dynamic { alpha } if alpha > 0.0 && alpha.is_finite() => {
            // What one group can hold of the whole memory.
            let most = alpha / (1.0 + alpha) * size.get() as f64;
            (Xoff::Dynamic(alpha), Bytes::new(most as u64))
        }
        spec::Xoff::Dynamic { alpha } => {
            return Err(problem(".xoff.alpha", format!("{alpha}: a number above 0 is needed")));
        }
    };
    if pfc.xon > highest {
        let message = format!("{} is above XOFF: at most {highest} is allowed", pfc.xon);
        return Err(problem(".xon", message));
    }
    Ok(xoff)
}

fn watchdog(
    watchdog: spec::Watchdog,
    quanta: u16,
    links: &[Way],
    problem: &impl Fn(&str, String) -> Problem,
) -> Result<WatchdogConfig, Problem> {
    let spec::Watchdog { poll, detection, restoration, action } = watchdog;
    if poll.as_ps() == 0 {
        return Err(problem(".watchdog.poll", "0s: a time above zero is needed".into()));
    }
    for (field, time) in [("detection", detection), ("restoration", restoration)] {
        if time < poll {
            let message = format!("{time}: at least the poll interval, {poll}");
            return Err(problem(&format!(".watchdog.{field}"), message));
        }
    }
    let slowest: Option<Rate> = links.iter().map(|(_, from)| from.rate).min();
    let pause = slowest.map(|rate| pause_time(rate, quanta)).unwrap_or_default();
    if detection < pause {
        let message = format!(
            "{detection} is shorter than one pause of {quanta} quanta at {}, {pause}: at least that",
            slowest.unwrap_or(Rate::from_gbps(1))
        );
        return Err(problem(".watchdog.detection", message));
    }
    let action = match action {
        spec::WatchdogAction::Drop => WatchdogAction::Drop,
        spec::WatchdogAction::Forward => WatchdogAction::Forward,
    };
    Ok(WatchdogConfig { poll, detection, restoration, action })
}
