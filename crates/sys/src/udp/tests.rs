//! Over the loopback interface. What the kernel lacks is skipped, by name.

use super::*;
use crate::epoll::Epoll;
use std::time::Duration;

fn socket() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap()
}

fn to(socket: &UdpSocket) -> Destination {
    socket.local_addr().unwrap().into()
}

/// All datagrams that come until `count` are there: content, and whether cut short.
fn collect(socket: &UdpSocket, batch: &mut RecvBatch, count: usize) -> Vec<(Vec<u8>, bool)> {
    let mut epoll = Epoll::new().unwrap();
    epoll.add(socket, 0).unwrap();
    let mut got = Vec::new();
    while got.len() < count {
        match socket.recv(batch) {
            Ok(_) => {
                for received in batch.iter() {
                    got.extend(received.segments().map(|s| (s.to_vec(), received.truncated)));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let more = epoll.wait(Some(Duration::from_secs(60))).unwrap().count();
                assert!(more > 0, "only {} of {count} came", got.len());
            }
            Err(error) => panic!("{error}"),
        }
    }
    got
}

#[test]
fn a_batch_arrives_whole_and_in_order_with_its_sender() {
    let (a, b) = (socket(), socket());
    let destination = to(&b);
    let contents: Vec<Vec<u8>> = (0..50u8).map(|i| vec![i; usize::from(i)]).collect();
    let messages = contents.iter().map(|data| Message { to: &destination, data, segment: 0 });
    assert_eq!(a.send(&mut SendBatch::default(), messages).unwrap(), 50);
    let mut batch = RecvBatch::new(64, 100);
    let got = collect(&b, &mut batch, 50);
    assert_eq!(got, contents.into_iter().map(|data| (data, false)).collect::<Vec<_>>());
    assert!(batch.iter().all(|received| received.from == Some(a.local_addr().unwrap())));
}

#[test]
fn ipv6_has_its_senders_too() {
    let address = "[::1]:0".parse().unwrap();
    let (Ok(a), Ok(b)) = (UdpSocket::bind(address), UdpSocket::bind(address)) else {
        return eprintln!("skipped: no IPv6 on this machine");
    };
    let destination = to(&b);
    let message = Message { to: &destination, data: &[1, 2], segment: 0 };
    a.send(&mut SendBatch::default(), [message].into_iter()).unwrap();
    let mut batch = RecvBatch::new(1, 100);
    assert_eq!(collect(&b, &mut batch, 1), [(vec![1, 2], false)]);
    assert_eq!(batch.iter().next().unwrap().from, Some(a.local_addr().unwrap()));
}

#[test]
fn what_is_too_long_for_the_buffer_is_cut_and_says_so() {
    let (a, b) = (socket(), socket());
    let destination = to(&b);
    let messages = [10, 100, 5].map(|n| vec![7; n]);
    let messages = messages.iter().map(|data| Message { to: &destination, data, segment: 0 });
    a.send(&mut SendBatch::default(), messages).unwrap();
    let got = collect(&b, &mut RecvBatch::new(2, 10), 3);
    assert_eq!(got, [(vec![7; 10], false), (vec![7; 10], true), (vec![7; 5], false)]);
}

#[test]
fn what_is_cut_by_the_kernel_arrives_as_datagrams() {
    let (a, b) = (socket(), socket());
    if !a.can_segment() {
        return eprintln!("skipped: no UDP_SEGMENT before Linux 4.18");
    }
    let destination = to(&b);
    let data: Vec<u8> = (0..64 * 63 + 10).map(|i| (i / 64) as u8).collect();
    let whole = vec![99; 200];
    let messages = [
        Message { to: &destination, data: &data, segment: 64 },
        Message { to: &destination, data: &whole, segment: 0 },
    ];
    assert_eq!(a.send(&mut SendBatch::default(), messages.into_iter()).unwrap(), 2);
    let expected: Vec<_> = data.chunks(64).chain([&whole[..]]).map(|s| (s.to_vec(), false)).collect();
    assert_eq!(expected.len(), 65);
    assert_eq!(collect(&b, &mut RecvBatch::new(100, PAYLOAD_MAX), 65), expected);
}

#[test]
fn as_many_segments_as_the_kernel_says_and_no_more() {
    let (a, b) = (socket(), socket());
    let max = segments_max();
    if max == 1 {
        return eprintln!("skipped: no UDP_SEGMENT before Linux 4.18");
    }
    let destination = to(&b);
    let data = vec![7; (SEGMENTS_MAX + 1) * 8];
    let send = |count: usize| {
        let message = Message { to: &destination, data: &data[..count * 8], segment: 8 };
        a.send(&mut SendBatch::default(), [message].into_iter())
    };
    assert_eq!(send(max).unwrap(), 1);
    assert_eq!(collect(&b, &mut RecvBatch::new(200, PAYLOAD_MAX), max).len(), max);
    assert_eq!(send(max + 1).unwrap_err().kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn joined_datagrams_are_taken_apart() {
    let (a, b) = (socket(), socket());
    if !a.can_segment() {
        return eprintln!("skipped: no UDP_SEGMENT before Linux 4.18");
    }
    if b.set_gro(true).is_err() {
        return eprintln!("skipped: no UDP_GRO before Linux 5.0");
    }
    let destination = to(&b);
    let data: Vec<u8> = (0..100 * 9 + 1).map(|i| (i / 100) as u8).collect();
    let message = Message { to: &destination, data: &data, segment: 100 };
    a.send(&mut SendBatch::default(), [message].into_iter()).unwrap();
    let mut batch = RecvBatch::new(4, 1 << 16);
    let expected: Vec<_> = data.chunks(100).map(|s| (s.to_vec(), false)).collect();
    assert_eq!(collect(&b, &mut batch, 10), expected);
    if batch.iter().count() > 1 {
        eprintln!("skipped in part: the kernel joined nothing on the loopback interface");
    }
}

#[test]
fn an_empty_datagram_is_one() {
    let (a, b) = (socket(), socket());
    let destination = to(&b);
    let message = Message { to: &destination, data: &[], segment: 0 };
    a.send(&mut SendBatch::default(), [message].into_iter()).unwrap();
    assert_eq!(collect(&b, &mut RecvBatch::new(1, 1), 1), [(vec![], false)]);
}

#[test]
fn nothing_there_would_block_and_too_large_is_an_error() {
    let a = socket();
    let error = a.recv(&mut RecvBatch::new(1, 1)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    let (destination, data) = (to(&a), vec![0; PAYLOAD_MAX + 1]);
    let message = Message { to: &destination, data: &data, segment: 0 };
    let error = a.send(&mut SendBatch::default(), [message].into_iter()).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EMSGSIZE));
    assert_eq!(a.send(&mut SendBatch::default(), std::iter::empty()).unwrap(), 0);
}

#[test]
fn what_finds_no_room_is_counted() {
    let (a, b) = (socket(), socket());
    let (room, _) = b.set_buffers(4096, 4096).unwrap();
    let destination = to(&b);
    let data = [0; 1000];
    let flood = (0..1000).map(|_| Message { to: &destination, data: &data, segment: 0 });
    assert_eq!(a.send(&mut SendBatch::default(), flood).unwrap(), 1000);
    let mut batch = RecvBatch::new(1000, 1000);
    let got = collect(&b, &mut batch, 1).len();
    assert!(got * 1000 <= room, "{got} in {room} bytes");
    // The next datagram to come tells.
    a.send(&mut SendBatch::default(), [Message { to: &destination, data: &data, segment: 0 }].into_iter())
        .unwrap();
    collect(&b, &mut batch, 1);
    assert_eq!(batch.iter().next().unwrap().overflows, Some(1000 - got as u32));
}
