//! Where the hosts of a run are: the address of each host's ports.
//!
//! A process knows hosts by number and ports by the numbers of its job. Several hosts may live on one
//! machine, so real ports are whatever the kernel gave, and a table translates both ways. What does not
//! come from an address in it comes from outside of the job.

use process::{Addr, HostId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// One host's sockets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostAddress {
    /// The host's number.
    pub host: u32,
    /// Its address.
    pub ip: IpAddr,
    /// Real UDP port by the job's port.
    pub udp: BTreeMap<u16, u16>,
    /// Real TCP port by the job's port.
    pub tcp: BTreeMap<u16, u16>,
}

/// Why addresses make no table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// A host's number is twice in it.
    #[error("host {0} is there twice")]
    Twice(u32),
    /// Two hosts claim one address.
    #[error("hosts {0} and {1} both have {2}")]
    Shared(u32, u32, SocketAddr),
}

/// The addresses of all hosts of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    hosts: BTreeMap<u32, HostAddress>,
    sources: BTreeMap<SocketAddr, Addr>,
}

impl Table {
    /// A table of `hosts`.
    ///
    /// # Errors
    /// When a host is there twice, or two share an address.
    pub fn new(hosts: impl IntoIterator<Item = HostAddress>) -> Result<Table, TableError> {
        let mut table = Table::default();
        for host in hosts {
            if table.hosts.contains_key(&host.host) {
                return Err(TableError::Twice(host.host));
            }
            table.put(host)?;
        }
        Ok(table)
    }

    /// Puts a host where it is now: it has moved, or come back.
    ///
    /// # Errors
    /// When another host has one of its addresses; then nothing changes.
    pub fn put(&mut self, host: HostAddress) -> Result<(), TableError> {
        for real in host.udp.values() {
            let address = SocketAddr::new(host.ip, *real);
            match self.sources.get(&address) {
                Some(other) if other.host.0 != host.host => {
                    return Err(TableError::Shared(other.host.0, host.host, address));
                }
                _ => {}
            }
        }
        self.sources.retain(|_, address| address.host.0 != host.host);
        for (&port, &real) in &host.udp {
            self.sources.insert(SocketAddr::new(host.ip, real), Addr { host: HostId(host.host), port });
        }
        self.hosts.insert(host.host, host);
        Ok(())
    }

    /// All hosts in the order of their numbers.
    pub fn hosts(&self) -> impl ExactSizeIterator<Item = &HostAddress> {
        self.hosts.values()
    }

    /// Where a host is.
    pub fn host(&self, host: HostId) -> Option<&HostAddress> {
        self.hosts.get(&host.0)
    }

    /// Where datagrams to `to` go.
    pub fn udp(&self, to: Addr) -> Option<SocketAddr> {
        let host = self.host(to.host)?;
        Some(SocketAddr::new(host.ip, *host.udp.get(&to.port)?))
    }

    /// Where streams to `to` go.
    pub fn tcp(&self, to: Addr) -> Option<SocketAddr> {
        let host = self.host(to.host)?;
        Some(SocketAddr::new(host.ip, *host.tcp.get(&to.port)?))
    }

    /// The host that sends datagrams from `address`.
    pub fn source(&self, address: SocketAddr) -> Option<Addr> {
        self.sources.get(&address).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(host: u32, real: u16) -> HostAddress {
        let ip = "10.0.0.1".parse().unwrap();
        HostAddress { host, ip, udp: [(7, real)].into(), tcp: [(7, real + 1)].into() }
    }

    #[test]
    fn it_translates_both_ways() {
        let table = Table::new([host(0, 100), host(5, 200)]).unwrap();
        let five = Addr { host: HostId(5), port: 7 };
        assert_eq!(table.udp(five), Some("10.0.0.1:200".parse().unwrap()));
        assert_eq!(table.tcp(five), Some("10.0.0.1:201".parse().unwrap()));
        assert_eq!(table.source("10.0.0.1:200".parse().unwrap()), Some(five));
        assert_eq!(table.source("10.0.0.1:201".parse().unwrap()), None);
        assert_eq!(table.udp(Addr { host: HostId(5), port: 8 }), None);
        assert_eq!(table.udp(Addr { host: HostId(4), port: 7 }), None);
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        assert_eq!(Table::new([host(0, 100), host(0, 200)]), Err(TableError::Twice(0)));
        let shared = TableError::Shared(0, 1, "10.0.0.1:100".parse().unwrap());
        assert_eq!(Table::new([host(0, 100), host(1, 100)]), Err(shared.clone()));
        assert_eq!(shared.to_string(), "hosts 0 and 1 both have 10.0.0.1:100");
    }

    #[test]
    fn who_moves_is_no_longer_where_it_was() {
        let mut table = Table::new([host(0, 100), host(1, 200)]).unwrap();
        table.put(host(1, 300)).unwrap();
        assert_eq!(table.source("10.0.0.1:200".parse().unwrap()), None);
        assert_eq!(table.source("10.0.0.1:300".parse().unwrap()).unwrap().host, HostId(1));
        assert_eq!(table.hosts().len(), 2);
    }
}
