//! What a guest computes: processor time of its kernel and its programs, which are processes of this machine.

use perf_event::events::Software;
use perf_event::{Builder, Counter};
use std::io;

/// Counts the processor time of a process and of all that it starts.
#[derive(Debug)]
pub struct Meter {
    counter: Counter,
    read: u64,
}

impl Meter {
    /// A meter of a process that has just begun.
    ///
    /// # Errors
    /// What the kernel says: perf_event_open(2) may be forbidden.
    pub fn of(process: u32) -> io::Result<Meter> {
        let mut builder = Builder::new(Software::TASK_CLOCK);
        let mut counter = builder.observe_pid(process as i32).inherit(true).build()?;
        counter.enable()?;
        Ok(Meter { counter, read: 0 })
    }

    /// Nanoseconds that were used since the last call.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn take(&mut self) -> io::Result<u64> {
        let read = self.counter.read()?;
        Ok(read.saturating_sub(std::mem::replace(&mut self.read, read)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn what_children_compute_counts() {
        let script = "read go; sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'; read end";
        let mut child =
            Command::new("sh").args(["-c", script]).stdin(std::process::Stdio::piped()).spawn().unwrap();
        let mut meter = Meter::of(child.id()).unwrap();
        // One line and the end of file: both reads come back.
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"\n").unwrap();
        child.wait().unwrap();
        assert!(meter.take().unwrap() > 1_000_000);
        assert_eq!(meter.take().unwrap(), 0);
    }
}
