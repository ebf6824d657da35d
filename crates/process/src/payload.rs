//! What datagrams and streams carry: real bytes, or a length where the content does not matter.

use bytes::Bytes;

/// Content of a datagram or a piece of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// Real bytes.
    Data(Bytes),
    /// So many bytes of no particular content: the simulator stores only the length, the live
    /// driver sends zeros.
    Zeros(u64),
}

impl Payload {
    /// Length in bytes.
    pub fn len(&self) -> u64 {
        match self {
            Payload::Data(bytes) => bytes.len() as u64,
            Payload::Zeros(n) => *n,
        }
    }

    /// Whether there is no byte in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the first `n` bytes off.
    ///
    /// # Panics
    /// When `n` exceeds the length.
    pub fn split_to(&mut self, n: u64) -> Payload {
        match self {
            Payload::Data(bytes) => Payload::Data(bytes.split_to(n as usize)),
            Payload::Zeros(len) => {
                *len = len.checked_sub(n).expect("split within the payload");
                Payload::Zeros(n)
            }
        }
    }
}

impl From<Vec<u8>> for Payload {
    fn from(bytes: Vec<u8>) -> Payload {
        Payload::Data(bytes.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_keeps_every_byte() {
        for mut payload in [Payload::Zeros(10), Payload::from(vec![7; 10])] {
            let head = payload.split_to(4);
            assert_eq!((head.len(), payload.len()), (4, 6));
        }
    }
}
