//! Messages of mining nodes: what a node makes of anything that comes on its streams.

use crate::alone::{Strangers, alone};
use mine::node::{Algorithm, Board, Costs, Exchange, InMemory, Node, NodeSetup, Settings};
use mine::transactions::Transactions;
use mine::work::Real;
use process::{Addr, HostId};
use std::sync::Arc;

const PORT: u16 = 5000;
const NODES: u32 = 4;
/// Bytes of a part's frame.
const PART: usize = 28;

/// Node 0, whose settings follow from a byte.
fn node(kind: u8) -> Node {
    let mut transactions = Transactions::default();
    for number in 0..40u32 {
        let mut items = vec![number % 3, 3 + number % 5, 8 + number % 2, 12];
        items.sort_unstable();
        transactions.push(&items);
    }
    let settings = Settings {
        algorithm: [Algorithm::Hpa, Algorithm::Npa, Algorithm::HpaEld][usize::from(kind >> 2) % 3],
        exchange: match kind & 3 {
            0 => Exchange::Plain,
            1 => Exchange::Combined { transactions: Some(10) },
            _ => Exchange::Frequent,
        },
        memory: 1 << 10,
        duplicated: 4,
        block: 256,
        ..Settings::new(10, vec![40; NODES as usize])
    };
    let settings = Arc::new(settings);
    let setup = NodeSetup {
        settings: Arc::clone(&settings),
        costs: Costs::default(),
        nodes: (0..NODES).map(|host| Addr { host: HostId(host), port: PORT }).collect(),
        me: 0,
        journal: Box::new(InMemory::default()),
        board: Board::default(),
    };
    Node::real(setup, Real::new(settings, 0, Arc::new(transactions), true)).expect("good settings")
}

/// A greeting as node `from`.
fn hello(from: u32) -> Vec<u8> {
    let content = [&[1, 1][..], &0u64.to_le_bytes(), &from.to_le_bytes()].concat();
    [&[content.len() as u8][..], &content].concat()
}

/// Messages on streams of others: the first byte says how the node is set; then each message has a byte for
/// its stream, one for its length, and its content. A stream begins with a greeting, and lengths on it are
/// right, unless the byte for the stream has its high bits set.
pub fn messages(bytes: &[u8]) {
    let Some((&kind, mut rest)) = bytes.split_first() else { return };
    let host = HostId(0);
    let mut world = alone(host, Box::new(node(kind)));
    let mut strangers = Strangers::new(Addr { host, port: PORT });
    world.step(1);
    while let [which, length, after @ ..] = rest {
        let (content, after) = after.split_at(usize::from(*length).min(after.len()));
        let at = usize::from(*which % 8);
        let from = at as u32 % NODES;
        if let Some((stream, new)) = strangers.stream(&mut world, at, from) {
            if new && which & 64 == 0 {
                world.arrive(stream, &hello(from));
            }
            // The body of a part is behind its frame.
            let part = content.first() == Some(&3);
            let framed =
                [&[if part { content.len().min(PART) } else { content.len() } as u8][..], content].concat();
            let bare = which & 128 != 0 || content.is_empty();
            world.arrive(stream, if bare { content } else { &framed });
        }
        world.step(8);
        rest = after;
    }
    world.step(200);
}
