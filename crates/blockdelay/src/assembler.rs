//! Instructions of BPF (RFC 9669), one number each, with labels instead of distances. No compiler is needed
//! to build this crate.

use std::collections::BTreeMap;

/// A register: `R0` has what a helper answers, `R1` to `R4` its arguments, `R6` to `R9` outlive it, `R10` is
/// the stack's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    R0,
    R1,
    R2,
    R3,
    R4,
    R6 = 6,
    R7,
    R8,
    R9,
    R10,
}

/// Bytes that are loaded or stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    Four = 0x00,
    Eight = 0x18,
}

/// What is done to a register: section 4.1's codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Do {
    Add = 0x00,
    Sub = 0x10,
    Mul = 0x20,
    Div = 0x30,
    And = 0x50,
    ShiftRight = 0x70,
    Set = 0xb0,
}

/// When a jump is taken, of numbers without a sign: section 4.3's codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum If {
    Equal = 0x10,
    Above = 0x20,
    NotEqual = 0x50,
    Below = 0xa0,
}

/// A number in an instruction, or a register's.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    Number(i32),
    Of(Register),
}

impl From<i32> for Operand {
    fn from(number: i32) -> Operand {
        Operand::Number(number)
    }
}

impl From<Register> for Operand {
    fn from(register: Register) -> Operand {
        Operand::Of(register)
    }
}

/// Functions of the kernel; numbers of `enum bpf_func_id`.
#[derive(Clone, Copy, Debug)]
pub enum Helper {
    MapLookup = 1,
    Nanoseconds = 5,
    ReadKernel = 113,
    Loop = 181,
}

const WIDE: u8 = 0x18;
const LOAD: u8 = 0x61;
const STORE: u8 = 0x63;
const STORE_NUMBER: u8 = 0x62;
const ATOMIC: u8 = 0xc3;
const ALU: u8 = 0x07;
const JUMP: u8 = 0x05;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const BY_REGISTER: u8 = 0x08;
/// What a wide number means: a map, a place in a map's only value, a function of this program.
const MAP: u8 = 1;
const MAP_VALUE: u8 = 2;
const FUNCTION: u8 = 4;

#[derive(Clone, Copy, Debug)]
struct Instruction {
    code: u8,
    to: u8,
    from: u8,
    offset: i16,
    number: i32,
}

impl Instruction {
    /// As the kernel reads it on a little-endian machine.
    fn bits(self) -> u64 {
        let registers = self.from << 4 | self.to;
        u64::from_le_bytes(
            [[self.code, registers].as_slice(), &self.offset.to_le_bytes(), &self.number.to_le_bytes()]
                .concat()
                .try_into()
                .expect("eight bytes"),
        )
    }
}

/// A program as it is written.
#[derive(Debug, Default)]
pub struct Assembler {
    instructions: Vec<Instruction>,
    labels: BTreeMap<&'static str, usize>,
    /// Which instruction goes to which label.
    goes: Vec<(usize, &'static str)>,
}

impl Assembler {
    fn push(&mut self, code: u8, to: u8, from: u8, offset: i16, number: i32) {
        self.instructions.push(Instruction { code, to, from, offset, number });
    }

    fn wide(&mut self, to: Register, meaning: u8, low: i32, high: i32) {
        self.push(WIDE, to as u8, meaning, 0, low);
        self.push(0, 0, 0, 0, high);
    }

    /// What is written next is at this label.
    pub fn label(&mut self, name: &'static str) -> &mut Self {
        self.labels.insert(name, self.instructions.len());
        self
    }

    /// `to = *(from + offset)`
    pub fn load(&mut self, size: Size, to: Register, from: Register, offset: i16) -> &mut Self {
        self.push(LOAD | size as u8, to as u8, from as u8, offset, 0);
        self
    }

    /// `*(to + offset) = what`
    pub fn store(&mut self, to: Register, offset: i16, what: impl Into<Operand>) -> &mut Self {
        let eight = Size::Eight as u8;
        match what.into() {
            Operand::Of(from) => self.push(STORE | eight, to as u8, from as u8, offset, 0),
            Operand::Number(number) => self.push(STORE_NUMBER | eight, to as u8, 0, offset, number),
        }
        self
    }

    /// `*(to + offset) += from`, atomically.
    pub fn add_to(&mut self, to: Register, offset: i16, from: Register) -> &mut Self {
        self.push(ATOMIC | Size::Eight as u8, to as u8, from as u8, offset, 0);
        self
    }

    /// `to = to … what`, in 64 bits.
    pub fn alu(&mut self, what: Do, to: Register, by: impl Into<Operand>) -> &mut Self {
        match by.into() {
            Operand::Of(from) => self.push(ALU | what as u8 | BY_REGISTER, to as u8, from as u8, 0, 0),
            Operand::Number(number) => self.push(ALU | what as u8, to as u8, 0, 0, number),
        }
        self
    }

    /// `to = number`, in 64 bits.
    pub fn set(&mut self, to: Register, number: u64) -> &mut Self {
        self.wide(to, 0, number as i32, (number >> 32) as i32);
        self
    }

    /// `to = ` the map of this number.
    pub fn map(&mut self, to: Register, map: i32) -> &mut Self {
        self.wide(to, MAP, map, 0);
        self
    }

    /// `to = ` the address of an array's first value.
    pub fn map_value(&mut self, to: Register, map: i32) -> &mut Self {
        self.wide(to, MAP_VALUE, map, 0);
        self
    }

    /// `to = ` the function at this label.
    pub fn function(&mut self, to: Register, label: &'static str) -> &mut Self {
        self.goes.push((self.instructions.len(), label));
        self.wide(to, FUNCTION, 0, 0);
        self
    }

    /// Goes on at the label if so.
    pub fn jump(
        &mut self,
        when: If,
        what: Register,
        by: impl Into<Operand>,
        label: &'static str,
    ) -> &mut Self {
        self.goes.push((self.instructions.len(), label));
        match by.into() {
            Operand::Of(from) => self.push(JUMP | when as u8 | BY_REGISTER, what as u8, from as u8, 0, 0),
            Operand::Number(number) => self.push(JUMP | when as u8, what as u8, 0, 0, number),
        }
        self
    }

    /// `R0 = helper(R1, …)`
    pub fn call(&mut self, helper: Helper) -> &mut Self {
        self.push(CALL, 0, 0, 0, helper as i32);
        self
    }

    /// Leaves with `R0` as the answer.
    pub fn exit(&mut self) -> &mut Self {
        self.push(EXIT, 0, 0, 0, 0);
        self
    }

    /// Where a label is, in instructions.
    pub fn place(&self, label: &str) -> usize {
        self.labels[label]
    }

    /// The program, labels become distances.
    pub fn assemble(mut self) -> Vec<u64> {
        for (at, label) in std::mem::take(&mut self.goes) {
            let distance = self.place(label) as i64 - at as i64 - 1;
            let instruction = &mut self.instructions[at];
            if instruction.code == WIDE {
                instruction.number = distance as i32;
            } else {
                instruction.offset = i16::try_from(distance).expect("programs are short");
            }
        }
        self.instructions.into_iter().map(Instruction::bits).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Register::{R0, R1, R6, R10};
    use super::*;

    /// RFC 9669, sections 3 and 4, by hand.
    #[test]
    fn instructions_are_the_standards() {
        let mut program = Assembler::default();
        program
            .load(Size::Eight, R6, R1, 8)
            .store(R10, -8, R6)
            .store(R10, -16, 7)
            .add_to(R6, 16, R0)
            .alu(Do::ShiftRight, R0, 12)
            .alu(Do::Mul, R0, R6)
            .set(R1, 0x1122_3344_5566_7788)
            .call(Helper::Nanoseconds)
            .exit();
        let bytes: Vec<[u8; 8]> = program.assemble().into_iter().map(u64::to_le_bytes).collect();
        assert_eq!(
            bytes,
            [
                [0x79, 0x16, 0x08, 0, 0, 0, 0, 0],
                [0x7b, 0x6a, 0xf8, 0xff, 0, 0, 0, 0],
                [0x7a, 0x0a, 0xf0, 0xff, 7, 0, 0, 0],
                [0xdb, 0x06, 0x10, 0, 0, 0, 0, 0],
                [0x77, 0x00, 0, 0, 12, 0, 0, 0],
                [0x2f, 0x60, 0, 0, 0, 0, 0, 0],
                [0x18, 0x01, 0, 0, 0x88, 0x77, 0x66, 0x55],
                [0, 0, 0, 0, 0x44, 0x33, 0x22, 0x11],
                [0x85, 0, 0, 0, 5, 0, 0, 0],
                [0x95, 0, 0, 0, 0, 0, 0, 0],
            ]
        );
    }

    #[test]
    fn labels_become_distances() {
        let mut program = Assembler::default();
        program
            .jump(If::Above, R0, 1, "end")
            .function(R1, "end")
            .label("again")
            .jump(If::Equal, R0, R1, "again")
            .label("end")
            .exit();
        assert_eq!(program.place("end"), 4);
        let bits = program.assemble();
        assert_eq!(bits[0].to_le_bytes(), [0x25, 0, 3, 0, 1, 0, 0, 0]);
        assert_eq!(bits[1].to_le_bytes(), [0x18, 0x41, 0, 0, 2, 0, 0, 0]);
        assert_eq!(bits[3].to_le_bytes(), [0x1d, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
    }
}
