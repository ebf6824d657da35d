//! Captures: blocks, order, checksums, and what Wireshark makes of them.

use proptest::prelude::*;
use record::RunFolder;
use record::capture::{Direction, Ecn, Endpoint, Packet, SynOptions, Tcp, Transport};
use std::fs;
use std::path::Path;
use std::process::Command;
use units::Time;
use units::testing::cases;

const CLIENT: Endpoint = Endpoint { host: 0, port: 40_000 };
const SERVER: Endpoint = Endpoint { host: 258, port: 5001 };

fn packet(time_ps: u64, transport: Transport<'_>) -> Packet<'_> {
    Packet {
        time: Time::from_ps(time_ps),
        direction: Direction::Out,
        from: CLIENT,
        to: SERVER,
        class: 0,
        ecn: Ecn::NotEct,
        payload_bytes: 0,
        transport,
        retransmission: false,
        dropped: None,
    }
}

fn answer(time_ps: u64, tcp: Tcp<'_>) -> Packet<'_> {
    Packet { direction: Direction::In, from: SERVER, to: CLIENT, ..packet(time_ps, Transport::Tcp(tcp)) }
}

/// Captures `packets` and returns the file's bytes.
fn capture(folder: &Path, packets: &[Packet<'_>]) -> Vec<u8> {
    let mut capture = RunFolder::create(folder, true).unwrap().capture("host0:leaf0").unwrap();
    packets.iter().for_each(|packet| capture.push(packet));
    capture.finish().unwrap();
    fs::read(folder.join("captures/host0-leaf0.pcapng")).unwrap()
}

struct Block {
    kind: u32,
    body: Vec<u8>,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// The blocks of a file, their two lengths compared.
fn blocks(mut file: &[u8]) -> Vec<Block> {
    let mut blocks = Vec::new();
    while !file.is_empty() {
        let length = word(file, 4) as usize;
        assert_eq!(length % 4, 0);
        assert_eq!(word(file, length - 4) as usize, length);
        blocks.push(Block { kind: word(file, 0), body: file[8..length - 4].to_vec() });
        file = &file[length..];
    }
    blocks
}

/// Time, frame and original length of each packet.
fn packets(file: &[u8]) -> Vec<(u64, Vec<u8>, u32)> {
    let packets = blocks(file).into_iter().filter(|block| block.kind == 6);
    packets
        .map(|Block { body, .. }| {
            let time = u64::from(word(&body, 4)) << 32 | u64::from(word(&body, 8));
            (time, body[20..20 + word(&body, 12) as usize].to_vec(), word(&body, 16))
        })
        .collect()
}

#[test]
fn the_file_names_its_port_and_counts_in_nanoseconds() {
    let folder = tempfile::tempdir().unwrap();
    let blocks = blocks(&capture(folder.path(), &[]));
    assert_eq!(blocks.iter().map(|block| block.kind).collect::<Vec<_>>(), [0x0a0d_0d0a, 1]);
    let interface = &blocks[1].body;
    // if_name is option 2, if_tsresol option 9.
    assert_eq!(interface[8..12], [2, 0, 11, 0]);
    assert_eq!(&interface[12..23], b"host0:leaf0");
    assert_eq!(interface[24..29], [9, 0, 1, 0, 9]);
}

#[test]
fn packets_come_out_by_time_and_those_of_one_time_in_order_of_arrival() {
    let folder = tempfile::tempdir().unwrap();
    let mut capture = RunFolder::create(folder.path(), false).unwrap().capture("host0:leaf0").unwrap();
    let sized = |time, payload_bytes| Packet { payload_bytes, ..packet(time, Transport::Udp) };
    capture.push(&sized(3000, 1));
    capture.push(&sized(1000, 2));
    capture.push(&sized(2000, 3));
    capture.flush_until(Time::from_ps(2000)).unwrap();
    capture.push(&sized(2999, 7));
    capture.push(&sized(2000, 4));
    capture.push(&sized(u64::MAX - 1, 5));
    capture.push(&sized(2500, 6));
    capture.finish().unwrap();
    let file = fs::read(folder.path().join("captures/host0-leaf0.pcapng")).unwrap();
    let order: Vec<_> = packets(&file).iter().map(|(time, _, length)| (*time, length - 42)).collect();
    assert_eq!(order, [(1, 2), (2, 3), (2, 4), (2, 6), (2, 7), (3, 1), ((u64::MAX - 1) / 1000, 5)]);
}

#[test]
fn a_tagged_segment_byte_by_byte() {
    let folder = tempfile::tempdir().unwrap();
    let tcp = Tcp {
        ack: Some(1),
        psh: true,
        ece: true,
        seq: 0x0102_0304,
        window_bytes: 65_536,
        window_shift: 7,
        ..Tcp::default()
    };
    let packet = Packet { class: 5, ecn: Ecn::Ce, payload_bytes: 1000, ..packet(1, Transport::Tcp(tcp)) };
    let (_, frame, original) = packets(&capture(folder.path(), &[packet])).remove(0);
    assert_eq!(original, 14 + 4 + 20 + 20 + 1000);
    // To host 258, from host 0; 802.1Q, priority 5, VLAN 0; IPv4.
    assert_eq!(frame[..18], [2, 0, 0, 0, 1, 2, 2, 0, 0, 0, 0, 0, 0x81, 0, 0xa0, 0, 8, 0]);
    // CE; 1040 bytes; do not fragment; TTL 64; TCP; checksum; 10.0.0.1 to 10.0.1.3.
    assert_eq!(frame[18..28], [0x45, 3, 4, 16, 0, 0, 0x40, 0, 64, 6]);
    assert_eq!(frame[30..38], [10, 0, 0, 1, 10, 0, 1, 3]);
    assert_eq!(frame[38..46], [0x9c, 0x40, 0x13, 0x89, 1, 2, 3, 4]);
    // ECE, ACK, PSH; window 65536 / 2^7.
    assert_eq!(frame[50..54], [0x50, 0x58, 2, 0]);
    assert_eq!(frame.len(), 58);
}

fn ones_complement(bytes: impl Iterator<Item = u8>) -> u16 {
    let bytes: Vec<u8> = bytes.collect();
    let sum = bytes
        .chunks(2)
        .map(|pair| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0)))
        .sum::<u64>();
    let folded = (sum & 0xffff) + (sum >> 16);
    ((folded & 0xffff) + (folded >> 16)) as u16
}

fn endpoint() -> impl Strategy<Value = Endpoint> {
    (0_u32..100_000, any::<u16>()).prop_map(|(host, port)| Endpoint { host, port })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    /// RFC 1071: the sum over everything that a right checksum covers, itself included, is all ones.
    #[test]
    fn checksums_are_right(
        (from, to) in (endpoint(), endpoint()),
        payload_bytes in 0_u32..9000,
        is_tcp: bool,
        (seq, ack, window_bytes) in (any::<u32>(), any::<u32>(), any::<u32>()),
        timestamps in proptest::option::of(any::<(u32, u32)>()),
        sack in proptest::collection::vec(any::<(u32, u32)>(), 0..6),
        class in 0_u8..8,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let tcp = Tcp { seq, ack: Some(ack), window_bytes, timestamps, sack: &sack, ..Tcp::default() };
        let transport = if is_tcp { Transport::Tcp(tcp) } else { Transport::Udp };
        let packet = Packet { from, to, class, payload_bytes, ..packet(0, transport) };
        let (_, frame, original) = packets(&capture(folder.path(), &[packet])).remove(0);
        let ip = &frame[if class == 0 { 14 } else { 18 }..];
        let (header, segment) = ip.split_at(20);
        prop_assert_eq!(ones_complement(header.iter().copied()), 0xffff);
        let length = segment.len() as u32 + payload_bytes;
        prop_assert_eq!(u32::from(u16::from_be_bytes([header[2], header[3]])), 20 + length);
        prop_assert_eq!(original, frame.len() as u32 + payload_bytes);
        let pseudo = header[12..].iter().copied().chain([0, header[9]]).chain((length as u16).to_be_bytes());
        prop_assert_eq!(ones_complement(pseudo.chain(segment.iter().copied())), 0xffff);
        prop_assert!(segment.len() <= 60, "as many SACK blocks as fit");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunFolder::create(folder.path(), false).unwrap();
    fs::create_dir(folder.path().join("captures")).unwrap();
    std::os::unix::fs::symlink("/dev/full", folder.path().join("captures/host0-leaf0.pcapng")).unwrap();
    let mut capture = run.capture("host0:leaf0").unwrap();
    let mut errors = Vec::new();
    for time in 0..40_000 {
        capture.push(&packet(time, Transport::Udp));
        errors.extend(capture.flush_until(Time::from_ps(time)).err());
    }
    errors.extend(capture.finish().err());
    assert_eq!(errors.len(), 1);
    let text = errors[0].to_string();
    assert!(text.contains("host0-leaf0.pcapng") && text.contains("first 0 packets are readable"), "{text}");
}

/// Handshake, two segments of which the first is dropped, a duplicate acknowledgement with SACK, the
/// retransmission marked on its way, and a datagram of class 3.
fn conversation(folder: &Path) {
    let syn = SynOptions { mss: 1460, sack_permitted: true, window_shift: Some(7) };
    let open = Tcp { window_bytes: 64_240, window_shift: 7, timestamps: Some((1, 2)), ..Tcp::default() };
    let data = Tcp { ack: Some(9001), seq: 101, ..open };
    let sack = [(1549, 2997)];
    let send =
        |time, tcp| Packet { ecn: Ecn::Ect0, payload_bytes: 1448, ..packet(time, Transport::Tcp(tcp)) };
    let lost = Packet { dropped: Some("tail drop at host0:leaf0, queue 150000 B"), ..send(3_000_001, data) };
    let again = Packet { ecn: Ecn::Ce, retransmission: true, ..send(6_000_000, data) };
    let datagram = Packet { class: 3, payload_bytes: 999, ..packet(7_000_000, Transport::Udp) };
    capture(
        folder,
        &[
            packet(0, Transport::Tcp(Tcp { syn: Some(syn), ece: true, cwr: true, seq: 100, ..open })),
            answer(1_000_000, Tcp { syn: Some(syn), ece: true, seq: 9000, ack: Some(101), ..open }),
            packet(2_000_000, Transport::Tcp(data)),
            lost,
            send(4_000_000, Tcp { seq: 1549, ..data }),
            answer(5_000_000, Tcp { seq: 9001, ack: Some(101), ece: true, sack: &sack, ..open }),
            again,
            datagram,
        ],
    );
}

/// What tshark prints of the conversation; nothing where it is not installed.
fn tshark(arguments: &[&str]) -> Option<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    conversation(folder.path());
    tshark_of(folder.path(), arguments)
}

/// What tshark prints of the capture in `folder`.
fn tshark_of(folder: &Path, arguments: &[&str]) -> Option<Vec<String>> {
    let file = folder.join("captures/host0-leaf0.pcapng");
    let checks = ["ip.check_checksum", "tcp.check_checksum", "udp.check_checksum"];
    let mut command = Command::new("tshark");
    command.arg("-r").arg(file);
    for check in checks {
        command.args(["-o", &format!("{check}:TRUE")]);
    }
    let Ok(output) = command.args(arguments).output() else {
        eprintln!("skipped: tshark is not installed");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect())
}

/// The fields of each packet, as tshark prints them.
fn fields(names: &[&str]) -> Option<Vec<String>> {
    let mut arguments =
        vec!["-T", "fields", "-E", "separator=|", "-o", "tcp.relative_sequence_numbers:FALSE"];
    names.iter().for_each(|name| arguments.extend(["-e", name]));
    tshark(&arguments)
}

#[test]
fn wireshark_finds_nothing_malformed_and_no_bad_checksum() {
    let bad = "_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0 || udp.checksum.status == 0 \
               || tcp.option.len.invalid || ip.bogus_ip_length";
    if let Some(lines) = tshark(&["-Y", bad]) {
        assert_eq!(lines, [""; 0]);
    }
    // The headers that are whole in the capture were checked and are good.
    if let Some(lines) = tshark(&["-Y", "tcp.checksum.status == 1 && ip.checksum.status == 1"]) {
        assert_eq!(lines.len(), 4);
    }
}

#[test]
fn wireshark_sees_sequence_numbers_sack_and_scaled_windows() {
    let names =
        ["tcp.seq", "tcp.ack", "tcp.len", "tcp.options.sack_le", "tcp.options.sack_re", "tcp.window_size"];
    let Some(lines) = fields(&names) else { return };
    assert_eq!(
        lines,
        [
            "100|0|0|||64240",
            "9000|101|0|||64240",
            "101|9001|0|||64128",
            "101|9001|1448|||64128",
            "1549|9001|1448|||64128",
            "9001|101|0|1549|2997|64128",
            "101|9001|1448|||64128",
            "|||||",
        ]
    );
}

#[test]
fn wireshark_sees_options_of_the_handshake_and_timestamps() {
    let names = [
        "tcp.options.mss_val",
        "tcp.options.wscale.shift",
        "tcp.options.sack_perm",
        "tcp.options.timestamp.tsval",
    ];
    let Some(lines) = fields(&names) else { return };
    let lines: Vec<_> = lines.iter().map(|line| line.replace("True", "1")).collect();
    assert!(lines[0].starts_with("1460|7|") && lines[0].ends_with("|1"), "{}", lines[0]);
    assert_eq!(lines[2], "|||1");
}

#[test]
fn wireshark_sees_ecn_priority_direction_time_and_comments() {
    let names = [
        "ip.dsfield.ecn",
        "tcp.flags",
        "vlan.priority",
        "frame.packet_flags_direction",
        "frame.len",
        "frame.comment",
    ];
    let Some(lines) = fields(&names) else { return };
    assert_eq!(lines[0], "0|0x00c2||0x00000002|78|");
    assert_eq!(lines[1], "0|0x0052||0x00000001|78|");
    assert_eq!(lines[3], "2|0x0010||0x00000002|1514|dropped: tail drop at host0:leaf0, queue 150000 B");
    assert_eq!(lines[5], "0|0x0050||0x00000001|78|");
    assert_eq!(lines[6], "3|0x0010||0x00000002|1514|retransmission");
    assert_eq!(lines[7], "0||3|0x00000002|1045|");
}

#[test]
fn wireshark_sees_the_interface_and_the_time() {
    let Some(lines) = fields(&["frame.interface_name", "frame.time_epoch", "ip.src", "eth.dst"]) else {
        return;
    };
    assert_eq!(lines[6], "host0:leaf0|0.000006000|10.0.0.1|02:00:00:00:01:02");
}

/// Times around what a reader may overflow at: 2⁶⁴/10⁹ ps, a second, 2³² ns, and the longest run.
const LONG: [u64; 9] = [
    999,
    18_446_744_073,
    18_446_745_000,
    999_999_999_999,
    1_000_000_000_000,
    4_294_967_296_000,
    5_018_500_000_001,
    18_446_744_073_709,
    9_223_372_036_854_775_807,
];

/// A capture of a packet at each of `times`, in picoseconds.
fn timed(times: &[u64]) -> (tempfile::TempDir, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let packets: Vec<_> = times.iter().map(|&time| packet(time, Transport::Udp)).collect();
    let file = capture(folder.path(), &packets);
    (folder, file)
}

#[test]
fn wireshark_reads_every_nanosecond_of_a_long_capture() {
    let (folder, _) = timed(&LONG);
    let arguments = ["-T", "fields", "-e", "frame.time_epoch"];
    let Some(lines) = tshark_of(folder.path(), &arguments) else { return };
    let written = |ps: &u64| format!("{}.{:09}", ps / 1_000_000_000_000, ps / 1000 % 1_000_000_000);
    assert_eq!(lines, LONG.iter().map(written).collect::<Vec<_>>());
}

proptest! {
    #[test]
    fn another_reader_reads_every_nanosecond(mut times in proptest::collection::vec(0..u64::MAX / 2, 1..20)) {
        times.extend(LONG);
        times.sort_unstable();
        let (_folder, file) = timed(&times);
        let mut reader = pcap_file::pcapng::PcapNgReader::new(&file[..]).unwrap();
        let mut read = Vec::new();
        while let Some(block) = reader.next_block() {
            if let Some(packet) = block.unwrap().into_enhanced_packet() {
                read.push(packet.timestamp.as_nanos() as u64);
            }
        }
        prop_assert_eq!(read, times.iter().map(|ps| ps / 1000).collect::<Vec<_>>());
    }
}
