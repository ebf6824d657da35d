//! The live driver: greetings of streams, what they carry sealed, and addresses of members.

use ::live::hello::{self, Hello};
use ::live::seal::{Damaged, Opened, Seal, Secret};
use ::live::{HostAddress, Key, Table};
use bytes::BytesMut;
use process::{Addr, HostId};

/// A greeting is refused, or it is the one of the host that it names.
pub fn hello(bytes: &[u8]) {
    // A stranger knows everything but the key; here its first bytes are guessed for it.
    let key = Key(*b"0123456789abcdef");
    let to = Addr { host: HostId(1), port: 1 };
    let mut greeting = hello::encode(&key, Hello { host: HostId(0), life: 0, number: 1 }, to);
    for (at, byte) in greeting.iter_mut().zip(bytes) {
        *at ^= byte;
    }
    if let Some(hello) = hello::decode(&key, &greeting, to) {
        assert_eq!(hello::encode(&key, hello, to), greeting);
    }
}

/// What is opened is what was sealed, in order, up to where it was changed; a stranger's handshake is
/// refused.
pub fn sealed(bytes: &[u8]) {
    let (secret, mut told) = (Secret([7; 32]), BytesMut::new());
    let (mut opener, mut listener) = (Seal::opener(&secret, b"job"), Seal::listener(&secret, b"job"));
    let said = opener.say().expect("it speaks first");
    let mut changed = said;
    changed.iter_mut().zip(bytes).for_each(|(at, byte)| *at ^= byte);
    if changed != said {
        assert_eq!(Seal::listener(&secret, b"job").hear(&changed), Err(Damaged));
    }
    assert!(listener.hear(&said).is_ok() && listener.say().and_then(|said| opener.hear(&said)).is_ok());
    // The bytes as content, and after that again: what is changed of both, and what follows.
    let (content, changes) = bytes.split_at(bytes.len() / 2);
    opener.seal(content, &mut told);
    opener.seal_end(&mut told);
    let honest = told.clone();
    told.iter_mut().zip(changes).for_each(|(at, byte)| *at ^= byte);
    let untouched = told.iter().zip(&honest).take_while(|(is, was)| is == was).count();
    told.extend_from_slice(bytes);
    let (mut opened, mut ended) = (Vec::new(), false);
    while let Ok(Some(part)) = listener.open(&mut told) {
        assert!(!ended, "nobody has sealed anything after the end");
        match part {
            Opened::Content(part) => opened.extend_from_slice(&part),
            Opened::End => ended = true,
        }
    }
    assert!(content.starts_with(&opened), "what was not sealed was opened");
    assert_eq!(ended, untouched == honest.len());
    assert!(!ended || opened == content);
}

/// Addresses make a table that translates both ways, or none.
pub fn table(bytes: &[u8]) {
    let Ok(hosts) = serde_json::from_slice::<Vec<HostAddress>>(bytes) else { return };
    let Ok(table) = Table::new(hosts.clone()) else { return };
    assert_eq!(table.hosts().len(), hosts.len());
    for host in &hosts {
        for &port in host.udp.keys() {
            let address = Addr { host: HostId(host.host), port };
            let real = table.udp(address).expect("it was given");
            assert_eq!(table.source(real).map(|source| source.host), Some(address.host));
        }
    }
}
