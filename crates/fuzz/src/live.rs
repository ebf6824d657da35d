//! The live driver: greetings of streams, and addresses of members.

use ::live::hello::{self, Hello};
use ::live::{HostAddress, Key, Table};
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
