//! Random bytes, and damaged valid ones, on every test run; the search that knows what is covered is in
//! `fuzz`.

use fuzz::TARGETS;
use proptest::prelude::*;
use units::testing::cases;
use walk::wire::{Codec, Ended, Record, WalkId, Walker};

fn id() -> impl Strategy<Value = WalkId> {
    (0u32..7, 0u32..5, 1u16..4, 0u16..3, any::<u64>()).prop_map(|(start, number, attempt, epoch, born_ns)| {
        WalkId { start, number, attempt, epoch, born_ns }
    })
}

fn path(start: u32, at: u32, steps: u32) -> Vec<u32> {
    let mut path = vec![start; steps as usize + 1];
    *path.last_mut().expect("not empty") = at;
    path
}

/// Records that a server of six nodes may believe, or nearly.
fn record() -> impl Strategy<Value = Record> {
    let node = || 0u32..7;
    prop_oneof![
        (
            id(),
            0u16..3,
            node(),
            proptest::option::of(node()),
            proptest::option::of(node()),
            0u32..14,
            any::<u64>(),
            any::<bool>()
        )
            .prop_map(|(id, source, at, previous, candidate, steps, random, paths)| {
                let path = if paths { path(id.start, at, steps) } else { Vec::new() };
                Record::Walker(Walker { id, source, at, previous, candidate, steps, random, path })
            }),
        (id(), node(), 0u32..14, any::<bool>()).prop_map(|(id, end, steps, paths)| {
            let path = if paths { path(id.start, end, steps) } else { Vec::new() };
            Record::Ended(Ended { id, end, steps, path })
        }),
        id().prop_map(Record::Dropped),
    ]
}

fn datagram() -> impl Strategy<Value = Vec<u8>> {
    let codec = Codec { job: 0, server: 1, key: None };
    proptest::collection::vec(record(), 0..4).prop_map(move |records| codec.encode(&records))
}

/// A message of Hadoop's that may be believed, or nearly: its kind, and numbers of one, four and eight bytes.
fn message() -> impl Strategy<Value = Vec<u8>> {
    let small = || prop_oneof![8 => 0u32..6, 1 => any::<u32>(), 1 => Just(u32::MAX)];
    let piece = prop_oneof![
        (0u8..3).prop_map(|byte| vec![byte]),
        small().prop_map(|word| word.to_le_bytes().to_vec()),
        (small(), prop_oneof![9 => Just(0u32), 1 => small()])
            .prop_map(|(low, high)| (u64::from(high) << 32 | u64::from(low)).to_le_bytes().to_vec()),
    ];
    (0u8..21, proptest::collection::vec(piece, 0..5))
        .prop_map(|(kind, pieces)| [vec![kind], pieces.concat()].concat())
}

/// A message of a mining node that may be believed, or nearly.
fn mine_message() -> impl Strategy<Value = Vec<u8>> {
    let word = |word: u32| word.to_le_bytes().to_vec();
    let stage = (1u32..4, 0u32..3, 0u8..5)
        .prop_map(move |(pass, slice, step)| [word(pass), word(slice), vec![step]].concat());
    let counts = (0u8..4, 1u8..20, any::<bool>()).prop_map(move |(number, count, last)| {
        [word(0), vec![u8::from(last)], word(1), word(2), word(2), vec![number, count]].concat()
    });
    let itemset = (0u32..13, 10u32..50).prop_map(move |(item, count)| {
        [word(0), vec![1], word(1), word(8), word(8), word(item), word(count)].concat()
    });
    let piece =
        prop_oneof![stage.clone(), counts, itemset, (0u32..3).prop_map(word), (0u8..5).prop_map(|n| vec![n])];
    (0u8..7, 0u8..5, stage, proptest::collection::vec(piece, 0..3))
        .prop_map(|(kind, of, stage, pieces)| [vec![kind, of], stage, pieces.concat()].concat())
}

/// A message of a broadcast that may be believed, or nearly.
fn broadcast_message() -> impl Strategy<Value = Vec<u8>> {
    let word = |word: u32| word.to_le_bytes().to_vec();
    let set = (0u32..3, any::<u64>())
        .prop_map(move |(first, bits)| [word(first), word(1), bits.to_le_bytes().to_vec()].concat());
    let small = (0u32..105).prop_map(word);
    let hash = Just(vec![0; 32]);
    let chunk = Just(vec![0; 16]);
    let plan = (0u32..4, 0u32..4).prop_map(move |(tree, parent)| {
        let rates = [1u64, 30, 60].map(|rate| (rate * 1_000_000).to_le_bytes().to_vec()).concat();
        [word(1), vec![0; 8], word(3), rates, word(1), word(tree), word(parent)].concat()
    });
    let piece = prop_oneof![set, small, hash, chunk, plan, (0u8..3).prop_map(|byte| vec![byte])];
    (0u8..28, proptest::collection::vec(piece, 0..4))
        .prop_map(|(kind, pieces)| [vec![kind], pieces.concat()].concat())
}

/// A message of a program or a memory node that may be believed, or nearly.
fn page_message() -> impl Strategy<Value = Vec<u8>> {
    let word = |word: u32| word.to_le_bytes().to_vec();
    let pages = prop_oneof![8 => 1u32..4, 1 => any::<u32>()];
    (1u8..5, any::<u64>(), pages, 0u32..70, 0usize..100).prop_map(move |(kind, page, pages, bytes, body)| {
        let page = if kind == 1 { page.to_le_bytes().to_vec() } else { Vec::new() };
        let bytes = if kind == 4 { Vec::new() } else { word(bytes) };
        [vec![kind], page, word(pages), bytes, vec![0; if kind == 2 { body } else { 0 }]].concat()
    })
}

/// A head of a call that may be believed, or nearly: its number, its own bytes and those of the reply.
fn head() -> impl Strategy<Value = Vec<u8>> {
    let bytes = || prop_oneof![8 => 0u64..2000, 1 => (1u64 << 53) - 1..(1 << 53) + 2, 1 => any::<u64>()];
    (prop_oneof![8 => 0u64..5, 1 => any::<u64>()], bytes(), bytes())
        .prop_map(|(call, own, reply)| [call, own, reply].map(u64::to_le_bytes).concat())
}

#[test]
fn libfuzzer_has_every_target() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/fuzz_targets");
    let stem = |file: std::fs::DirEntry| file.path().file_stem()?.to_str().map(str::to_owned);
    let files = std::fs::read_dir(folder).expect("the folder of targets");
    let mut found: Vec<String> = files.filter_map(|file| stem(file.expect("a file"))).collect();
    found.sort_unstable();
    assert_eq!(found, TARGETS.map(|(name, _)| name.to_owned()));
    let manifest = include_str!("../../../fuzz/Cargo.toml");
    found.iter().for_each(|name| assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}"));
}

#[test]
fn no_number_of_a_scenario_is_too_large_to_be_refused() {
    for leaf in 0u16..200 {
        let [low, high] = leaf.to_le_bytes();
        // 2^64 - 1, 2^32 - 1, 1e300.
        [4, 11, 5].iter().for_each(|to| fuzz::scenario::spec(&[low, high, *to]));
    }
}

// A case is a case of every target, or waits for the disk.
proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    #[test]
    fn any_bytes_keep_all_promises(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        TARGETS.iter().for_each(|(_, target)| target(&bytes));
    }

    #[test]
    fn journals_of_an_unfinished_copy(
        size in prop_oneof![Just(16u64), 0u64..100, any::<u64>()],
        records in proptest::collection::vec((0u8..7, any::<bool>()), 0..8), tail in 0usize..33
    ) {
        let record = |(chunk, right): (u8, bool)| [vec![chunk], vec![u8::from(!right); 32]].concat();
        let records: Vec<u8> = records.into_iter().flat_map(record).chain(vec![0; tail]).collect();
        fuzz::files::journal(&records);
        fuzz::files::journal(&[&size.to_le_bytes(), &records[..]].concat());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(256)))]

    #[test]
    fn datagrams_that_may_be_believed(
        kind: u8, datagrams in proptest::collection::vec(datagram(), 1..12), at: prop::sample::Index, to: u8
    ) {
        let mut bytes = vec![kind];
        for datagram in datagrams {
            fuzz::walk::datagram(&datagram);
            bytes.extend((datagram.len() as u16).to_le_bytes());
            bytes.extend(datagram);
        }
        fuzz::walk::server(&bytes);
        let at = at.index(bytes.len());
        bytes[at] = to;
        fuzz::walk::server(&bytes);
    }

    #[test]
    fn messages_of_hadoop(kind: u8, messages in proptest::collection::vec((0u8..24, message()), 1..24)) {
        let mut bytes = vec![kind];
        for (stream, content) in messages {
            bytes.extend([stream, content.len() as u8]);
            bytes.extend(content);
        }
        fuzz::shuffle::messages(&bytes);
    }

    #[test]
    fn messages_of_calls(heads in proptest::collection::vec((0u8..24, head()), 1..24)) {
        let bytes = heads.into_iter().flat_map(|(stream, head)| [vec![stream], head].concat());
        let bytes: Vec<u8> = bytes.collect();
        fuzz::rpc::messages(&bytes);
    }

    #[test]
    fn messages_of_a_broadcast(kind: u8, messages in proptest::collection::vec((0u8..24, broadcast_message()), 1..24)) {
        let mut bytes = vec![kind];
        for (stream, content) in messages {
            bytes.extend([stream, content.len() as u8]);
            bytes.extend(content);
        }
        fuzz::broadcast::messages(&bytes);
    }

    #[test]
    fn messages_of_mining(kind: u8, messages in proptest::collection::vec((0u8..8, mine_message()), 1..24)) {
        let mut bytes = vec![kind];
        for (stream, content) in messages {
            bytes.extend([stream, content.len() as u8]);
            bytes.extend(content);
        }
        fuzz::mine_node::messages(&bytes);
    }

    #[test]
    fn messages_of_remote_memory(kind: u8, messages in proptest::collection::vec((0u8..8, page_message()), 1..24)) {
        let mut bytes = vec![kind];
        for (stream, content) in messages {
            bytes.extend([stream, content.len() as u8]);
            bytes.extend(content);
        }
        fuzz::farmem::messages(&bytes);
    }

    #[test]
    fn requests_to_a_memory_server(
        cut: u8,
        heads in proptest::collection::vec(
            (0u8..10, 0u64..600, 0u32..4, 0usize..2, prop_oneof![Just(4096usize), 0usize..5000]), 1..40
        )
    ) {
        let mut bytes = vec![cut];
        for (kind, page, count, pages, length) in heads {
            bytes.extend([kind, 0, 0, 0]);
            bytes.extend(count.to_be_bytes());
            bytes.extend(page.to_be_bytes());
            let count = pages * count as usize;
            bytes.extend((length as u16).to_be_bytes().repeat(count));
            bytes.extend(vec![kind; count * length]);
        }
        fuzz::farmem::memory_server(&bytes);
        fuzz::farmem::memory_client(&bytes[1..]);
    }

    #[test]
    fn traces_of_page_faults(
        bits in 12u8..22, writes in 0u8..2,
        records in proptest::collection::vec((0u64..7, 0u64..40, 0u32..9, any::<u32>()), 0..60)
    ) {
        let mut bytes = b"INCFMT01".to_vec();
        bytes.extend([bits, 0, writes, 0, 9, 0, 0, 0]);
        for (kind, page, pages, ns) in records {
            bytes.extend((kind << 60 | if kind == 4 { 0 } else { page }).to_le_bytes());
            bytes.extend((u64::from(pages) << 32 | u64::from(ns)).to_le_bytes());
        }
        fuzz::farmem::trace(&bytes);
    }

    #[test]
    fn scenarios_of_which_leaves_are_others(
        changes in proptest::collection::vec((any::<u16>(), prop_oneof![0u8..13, any::<u8>()]), 1..4)
    ) {
        let bytes = changes.into_iter().flat_map(|(leaf, to)| {
            let [low, high] = leaf.to_le_bytes();
            [low, high, to]
        });
        fuzz::scenario::spec(&bytes.collect::<Vec<u8>>());
    }

    #[test]
    fn arcs_between_nodes_that_are_there(
        arcs in proptest::collection::vec((0u32..20, 0u32..20, any::<f32>()), 0..40), nodes in 0u8..20
    ) {
        let mut bytes = vec![nodes];
        for (from, to, weight) in arcs {
            bytes.extend([from, to, weight.to_bits()].into_iter().flat_map(u32::to_le_bytes));
        }
        fuzz::walk::graph(&bytes);
    }

    #[test]
    fn addresses_of_members(hosts in proptest::collection::vec((0u32..4, 1u16..4, 1u16..4), 0..5)) {
        let host = |(host, port, real): &(u32, u16, u16)| {
            format!(r#"{{"host":{host},"ip":"10.0.0.1","udp":{{"{port}":{real}}},"tcp":{{}}}}"#)
        };
        let hosts: Vec<String> = hosts.iter().map(host).collect();
        fuzz::live::table(format!("[{}]", hosts.join(",")).as_bytes());
    }

    #[test]
    fn transactions_as_text(piece in any::<u8>(), text in "([0-9]{1,10}[ \t]{0,2}|[0-9]{1,4} |\r?\n|[x,-]?){0,40}") {
        fuzz::mine::text(&[&[piece], text.as_bytes()].concat());
    }

    #[test]
    fn journals_of_mining(length in 0u64..3, items in proptest::collection::vec(0u32..9, 0..12), tail in proptest::collection::vec(any::<u8>(), 0..40)) {
        let count = items.len() as u64 / length.max(1);
        let mut record: Vec<u8> = [length, count].iter().flat_map(|word| word.to_le_bytes()).collect();
        items.iter().take((count * length) as usize).for_each(|item| record.extend(item.to_le_bytes()));
        (0..count).for_each(|n| record.extend((n + 1).to_le_bytes()));
        fuzz::mine::journal(&record);
        let sum = mine::journal::checksum(&record).to_le_bytes();
        fuzz::mine::journal(&[&record, &sum[..], &tail].concat());
    }

    #[test]
    fn distributions_of_sizes(
        points in proptest::collection::vec((0u64..5000, 0u32..110), 0..12), tail in "[0-9a-z .,#%\n-]{0,12}"
    ) {
        let lines: Vec<String> = points.iter().map(|(size, percent)| format!("{size} {percent}\n")).collect();
        fuzz::traffic::size_distribution(format!("{}{tail}", lines.concat()).as_bytes());
        let mut points = points;
        points.sort_unstable();
        let parts = points.len().max(1) as f64;
        let line = |(n, (size, _)): (usize, &(u64, u32))| format!("{size} {}\n", (n + 1) as f64 / parts);
        let sorted: Vec<String> = points.iter().enumerate().map(line).collect();
        fuzz::traffic::size_distribution(sorted.concat().as_bytes());
    }

    #[test]
    fn traces_of_coflows(
        coflows in proptest::collection::vec((0u32..9, 0u32..3, 0u32..3, "[0-9:. ]{0,20}"), 0..5), racks in 0u32..5
    ) {
        let line = |(at, mappers, reducers, rest): &(u32, u32, u32, String)| {
            let mappers: String = (0..*mappers).map(|rack| format!(" {rack}")).collect();
            let reducers: String = (0..*reducers).map(|rack| format!(" {rack}:{at}.5")).collect();
            format!("1 {at} {} {mappers} {} {reducers}{rest}\n", mappers.len() / 2, reducers.len() / 6)
        };
        let lines: Vec<String> = coflows.iter().map(line).collect();
        fuzz::traffic::coflow_trace(format!("{racks} {}\n{}", coflows.len(), lines.concat()).as_bytes());
    }

    #[test]
    fn partitions_of_nodes(owners in proptest::collection::vec(0u32..70_000, 0..9), end in "[0-9 \t\r\nx-]{0,3}") {
        let lines: Vec<String> = owners.iter().map(|owner| format!("{owner}\n")).collect();
        let text = format!("{}{end}", lines.concat());
        fuzz::walk::owners(&[&[owners.len() as u8], text.as_bytes()].concat());
    }

    #[test]
    fn layouts_of_folders(
        entries in proptest::collection::vec(("[ab./]{0,5}", 0u32..0o1100, 0u8..3, any::<u64>(), "[ab./]{0,4}"), 0..4),
        folder in proptest::option::of(0u32..0o1100)
    ) {
        let entry = |(path, mode, kind, bytes, to): &(String, u32, u8, u64, String)| match kind {
            0 => format!(r#"{{"path":"{path}","about":{{"mode":{mode}}},"kind":"file","bytes":{bytes}}}"#),
            1 => format!(r#"{{"path":"{path}","about":{{"mode":{mode}}},"kind":"folder"}}"#),
            _ => format!(r#"{{"path":"{path}","about":{{"mode":{mode}}},"kind":"link","to":"{to}"}}"#),
        };
        let entries: Vec<String> = entries.iter().map(entry).collect();
        let folder = folder.map_or("null".to_owned(), |mode| format!(r#"{{"mode":{mode}}}"#));
        fuzz::files::layout(format!(r#"{{"folder":{folder},"entries":[{}]}}"#, entries.join(",")).as_bytes());
    }

    #[test]
    fn plans_for_four_hosts(
        rates in proptest::collection::vec(0u64..120_000_000, 0..3),
        hops in proptest::collection::vec((0u8..5, 0u8..5, any::<bool>()), 0..5)
    ) {
        let hop = |(from, to, by): &(u8, u8, bool)| {
            format!(r#"["h{from}",{}"h{to}"]"#, if *by { r#""switch","# } else { "" })
        };
        let hops: Vec<String> = hops.iter().map(hop).collect();
        let tree = |rate: &u64| format!(r#"{{"rate":{rate},"hops":[{}]}}"#, hops.join(","));
        let trees: Vec<String> = rates.iter().map(tree).collect();
        let plan = format!(
            r#"{{"algorithm":"a","source":"h0","destinations":["h1","h2"],"trees":[{}]}}"#, trees.join(",")
        );
        fuzz::broadcast::plan(plan.as_bytes());
    }

    #[test]
    fn topologies_of_hosts_and_switches(
        nodes in proptest::collection::vec((0u8..5, any::<bool>(), proptest::option::of(any::<u64>())), 0..5),
        links in proptest::collection::vec((0u8..5, 0u8..5, any::<u64>(), 0u64..3), 0..6)
    ) {
        let node = |(name, is_host, cap): &(u8, bool, Option<u64>)| {
            let cap = cap.map_or("null".to_owned(), |cap| cap.to_string());
            format!(r#"{{"id":"n{name}","kind":"{}","cap":{cap}}}"#, if *is_host { "host" } else { "switch" })
        };
        let link = |(a, b, ab, ba): &(u8, u8, u64, u64)| format!(r#"{{"a":"n{a}","b":"n{b}","ab":{ab},"ba":{ba}}}"#);
        let nodes: Vec<String> = nodes.iter().map(node).collect();
        let links: Vec<String> = links.iter().map(link).collect();
        let text = format!(r#"{{"nodes":[{}],"links":[{}]}}"#, nodes.join(","), links.join(","));
        fuzz::broadcast::topology(text.as_bytes());
    }

    #[test]
    fn quantities(text in "[0-9._e+-]{0,12} ?[kMGTmunp]?(i?[bB]|bit/s|s|min|h|ps)?") {
        fuzz::units::text(text.as_bytes());
    }
}
