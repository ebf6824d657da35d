//! What the kernel runs at a block I/O: `block_bio_queue`, where the requesting thread waits, and
//! `block_bio_complete`, where the I/O is done.
//!
//! An in-memory swap device works in the requesting thread, so this thread waits, with its processor kept
//! busy: nothing can sleep here, and a sleep would be less exact. The programs' source is this file, under
//! the project's license or GPL-2.0.

use farmem::cost::{Cost, Way};
use units::Bytes;

use crate::assembler::Register::{R0, R1, R2, R3, R4, R6, R7, R8, R9, R10};
use crate::assembler::{Assembler, Do, Helper, If, Register, Size};
use crate::layout::Layout;

/// Why the kernel lets them call what it keeps for programs under GPL.
pub const LICENSE: &str = "Dual MIT/GPL";
/// Bytes of a swapped page.
pub const PAGE: Bytes = Bytes::new(1 << PAGE_BITS);
const PAGE_BITS: i32 = 12;

/// A direction's counters, in the order of the map's value.
pub const COUNTERS: usize = 6;
/// Bytes of them.
pub const COUNTERS_BYTES: i32 = 8 * COUNTERS as i32;
const REQUESTS: i16 = 0;
const PAGES: i16 = 8;
const NOMINAL_PS: i16 = 16;
const INJECTED_NS: i16 = 24;
const COMPLETED: i16 = 32;
const OWN_NS: i16 = 40;

/// Bytes of what a processor remembers of its latest I/O until it is done: which one, since when, and which
/// way.
pub const LATEST_BYTES: u32 = 24;

/// The stack, down from its end.
const READ: i16 = -8;
const NOW: i16 = -16;
const UNTIL: i16 = -24;
const STARTED: i16 = -32;

/// In what is remembered.
const BIO: i16 = 0;
const SINCE: i16 = 8;
const WAY: i16 = 16;

/// The most that the kernel lets a loop turn.
const TURNS: i32 = 1 << 23;
/// `REQ_OP_MASK`; `REQ_OP_READ` is 0 and `REQ_OP_WRITE` 1.
const OPERATION: i32 = 0xff;

/// Numbers of maps: the counters, and each processor's latest I/O.
#[derive(Clone, Copy, Debug)]
pub struct Maps {
    pub counters: i32,
    pub latest: i32,
}

/// Each read and write of this device waits what it costs. The function that waits is at the answer's
/// instruction.
pub fn queue(device: u32, cost: &Cost, layout: &Layout, maps: Maps) -> (Vec<u64>, u32) {
    let mut p = Assembler::default();
    p.load(Size::Eight, R6, R1, 0).call(Helper::Nanoseconds).store(R10, STARTED, R0);
    // Ours, a read or a write, and of pages?
    read(&mut p, Size::Eight, layout.device, R6);
    p.load(Size::Eight, R3, R10, READ);
    read(&mut p, Size::Four, layout.number, R3);
    p.load(Size::Four, R1, R10, READ).set(R2, device.into()).jump(If::NotEqual, R1, R2, "end");
    read(&mut p, Size::Four, layout.operation, R6);
    p.load(Size::Four, R7, R10, READ).alu(Do::And, R7, OPERATION).jump(If::Above, R7, 1, "end");
    read(&mut p, Size::Four, layout.bytes, R6);
    p.load(Size::Four, R8, R10, READ).alu(Do::ShiftRight, R8, PAGE_BITS).jump(If::Equal, R8, 0, "end");
    // R9 = latency + pages · transmission, in ps.
    p.alu(Do::Set, R9, R8).jump(If::NotEqual, R7, 0, "write");
    nominal(&mut p, Some(cost.fetch));
    p.jump(If::Equal, R7, 0, "wait").label("write");
    nominal(&mut p, cost.write_back);
    p.label("wait").alu(Do::Set, R1, R9).alu(Do::Add, R1, 500).alu(Do::Div, R1, 1000);
    p.load(Size::Eight, R2, R10, STARTED).alu(Do::Add, R1, R2).store(R10, UNTIL, R1).store(R10, NOW, R2);
    // From then on it is the device's time. Noted before the wait, which hides what that takes.
    latest(&mut p, maps);
    p.load(Size::Eight, R1, R10, UNTIL).store(R0, BIO, R6).store(R0, SINCE, R1).store(R0, WAY, R7);
    p.alu(Do::Set, R1, TURNS).function(R2, "spin");
    p.alu(Do::Set, R3, R10).alu(Do::Add, R3, i32::from(UNTIL)).alu(Do::Set, R4, 0).call(Helper::Loop);
    p.load(Size::Eight, R1, R10, NOW).load(Size::Eight, R2, R10, STARTED).alu(Do::Sub, R1, R2);
    p.map_value(R3, maps.counters).alu(Do::Mul, R7, COUNTERS_BYTES).alu(Do::Add, R3, R7);
    p.add_to(R3, INJECTED_NS, R1).add_to(R3, NOMINAL_PS, R9).add_to(R3, PAGES, R8);
    p.alu(Do::Set, R1, 1).add_to(R3, REQUESTS, R1).label("end").alu(Do::Set, R0, 0).exit();
    // spin(turn, { until, now }): 1 ends the loop.
    p.label("spin").alu(Do::Set, R6, R2).call(Helper::Nanoseconds).store(R6, NOW - UNTIL, R0);
    p.load(Size::Eight, R1, R6, 0).alu(Do::Set, R2, R0).alu(Do::Set, R0, 1);
    p.jump(If::Below, R2, R1, "on").exit();
    p.label("on").alu(Do::Set, R0, 0).exit();
    let spin = p.place("spin") as u32;
    (p.assemble(), spin)
}

/// What this processor began last is done: the device's own time. Where another I/O came between, it isn't
/// known.
pub fn complete(maps: Maps) -> Vec<u64> {
    let mut p = Assembler::default();
    p.load(Size::Eight, R6, R1, 8);
    latest(&mut p, maps);
    p.load(Size::Eight, R1, R0, BIO).jump(If::NotEqual, R1, R6, "end");
    p.load(Size::Eight, R7, R0, WAY).load(Size::Eight, R8, R0, SINCE).store(R0, BIO, 0);
    p.jump(If::Above, R7, 1, "end").call(Helper::Nanoseconds).alu(Do::Sub, R0, R8);
    p.map_value(R1, maps.counters).alu(Do::Mul, R7, COUNTERS_BYTES).alu(Do::Add, R1, R7);
    p.add_to(R1, OWN_NS, R0).alu(Do::Set, R2, 1).add_to(R1, COMPLETED, R2);
    p.label("end").alu(Do::Set, R0, 0).exit();
    p.assemble()
}

/// `R0` = what this processor remembers; there always is such a place.
fn latest(p: &mut Assembler, maps: Maps) {
    p.store(R10, READ, 0).map(R1, maps.latest);
    stack(p, &[(R2, READ)]);
    p.call(Helper::MapLookup).jump(If::Equal, R0, 0, "end");
}

/// Reads what is so far behind an address of the kernel's to the stack.
fn read(p: &mut Assembler, size: Size, offset: i32, from: Register) {
    let bytes = if size == Size::Eight { 8 } else { 4 };
    p.alu(Do::Set, R3, from).alu(Do::Add, R3, offset).alu(Do::Set, R2, bytes);
    stack(p, &[(R1, READ)]);
    p.call(Helper::ReadKernel);
}

/// Registers get addresses in the stack.
fn stack(p: &mut Assembler, addresses: &[(Register, i16)]) {
    for (register, offset) in addresses {
        p.alu(Do::Set, *register, R10).alu(Do::Add, *register, i32::from(*offset));
    }
}

/// `R9` pages become what they cost.
fn nominal(p: &mut Assembler, way: Option<Way>) {
    let (latency, page) = way.map_or((0, 0), |way| (way.latency.as_ps(), way.rate.time_for(PAGE).as_ps()));
    p.set(R1, page).alu(Do::Mul, R9, R1).set(R1, latency).alu(Do::Add, R9, R1);
}
