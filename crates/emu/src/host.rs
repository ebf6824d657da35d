//! What a guest is to be: its kernel, its address, what is set and which programs run.

use crate::console::SIGN;
use crate::guest::{BOOT, Card, NOTES, TIME_OF_DAY};
use process::HostId;
use std::fmt::Write;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use sys::child::Begin;
use units::Time;

/// The first program's script, in the guest's folder.
pub const INIT: &str = "init";
/// What stands in the place of `/etc/hosts`, and of `/etc/resolv.conf`, in the guest's folder.
pub const NAMES: [&str; 2] = ["hosts", "resolv.conf"];
/// Nobody answers for names there, and says so at once.
pub const NO_SERVER: &str = "nameserver 127.0.0.1\n";

/// A guest to be.
#[derive(Clone, Debug)]
pub struct Host {
    /// Which host of the topology.
    pub id: HostId,
    /// Its name there.
    pub name: String,
    /// Longest IP packet that it sends, in bytes.
    pub mtu: u16,
    /// Memory in MiB.
    pub memory: u32,
    /// Time between two interrupts of its network card, at least.
    pub moderation: Time,
    /// TCP hands its network card several segments at a time.
    pub gso: bool,
    /// The network card cuts segments itself.
    pub tso: bool,
    /// Speed of its processor, as a multiple of this machine's; none: computing takes no time.
    pub cpu_rate: Option<f64>,
    /// Settings of its kernel.
    pub settings: Vec<Setting>,
    /// Options of its route to all others, as ip-route(8) has them (`initcwnd 20`).
    pub route: String,
    /// What runs on it.
    pub programs: Vec<Program>,
}

/// A setting of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// As people call it.
    pub name: String,
    /// Where it is written.
    path: String,
    /// What is written there.
    pub value: String,
}

impl Setting {
    /// What sysctl(8) calls so.
    pub fn sysctl(name: &str, value: &str) -> Setting {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        Setting { name: name.to_owned(), path, value: value.to_owned() }
    }

    /// A parameter of a module, by its place below /sys/module.
    pub fn module(place: &str, value: &str) -> Setting {
        Setting { name: place.to_owned(), path: format!("/sys/module/{place}"), value: value.to_owned() }
    }
}

/// A program on a guest.
#[derive(Clone, Debug)]
pub struct Program {
    /// What it says when it ends stands under this number.
    pub number: usize,
    /// When it starts, of the run's time; nothing: as soon as the host is up.
    pub start: Option<Time>,
    /// What the shell is to run.
    pub command: String,
    /// Its environment.
    pub environment: Vec<(String, String)>,
    /// Where what it prints goes, in the guest's folder; after a crash it goes on there.
    pub output: String,
}

/// What the first program says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The host could not be set up.
    Unready,
    /// A setting of this number was refused.
    Refused(usize),
    /// The program of this number has ended with this exit code.
    Ended(usize, i32),
    /// It goes on, and there is nothing more to wait for.
    Finished(usize),
    /// What somebody asked for under this number is done, with this exit code.
    Answered(usize, i32),
}

/// The address of a host: 10.0.0.1 is the first one's.
pub fn address(host: HostId) -> Ipv4Addr {
    Ipv4Addr::from_bits(FIRST + host.0)
}

/// `/etc/hosts` of a network with these hosts.
pub fn names<'a>(hosts: impl Iterator<Item = &'a str>) -> String {
    let line = |(number, name): (u32, &str)| format!("{} {name}\n", address(HostId(number)));
    ["127.0.0.1 localhost\n".to_owned()].into_iter().chain((0..).zip(hosts).map(line)).collect()
}

/// The host of an address.
pub(crate) fn host_of(address: Ipv4Addr, hosts: usize) -> Option<HostId> {
    let host = address.to_bits().wrapping_sub(FIRST);
    ((host as usize) < hosts).then_some(HostId(host))
}

const FIRST: u32 = u32::from_be_bytes([10, 0, 0, 1]);

impl Host {
    /// Its network card.
    pub fn card(&self) -> Card {
        let [_, high, mid, low] = self.id.0.to_be_bytes();
        // Locally administered, unicast.
        Card {
            mac: [2, 0, 0, high, mid, low],
            mtu: self.mtu,
            moderation: self.moderation.as_ps().div_ceil(1000),
            offloads: self.tso,
        }
    }

    /// How its kernel begins, which has crashed so many times: its random numbers are others each time. All
    /// that differs from host to host is in its folder: the kernel mixes its command line into its random
    /// numbers.
    pub fn begin(&self, kernel: PathBuf, seed: u64, crashes: u64) -> Begin {
        let again = if crashes > 0 { format!(" {crashes}") } else { String::new() };
        let random = format!("{seed:016x}{:08x}{again}", self.id.0);
        let args = [
            &format!("mem={}M", self.memory),
            "root=/dev/root rootfstype=hostfs rootflags=/ ro",
            "time-travel=ext:time",
            "virtio_uml.device=net:1",
            "con=null con0=null,fd:1",
            "quiet norandmaps",
            // What the kernel notes of itself: otherwise in its user's home.
            &format!("umid=guest uml_dir=./{NOTES}"),
            "init=/bin/sh",
            "--",
            "-c",
            // The folder is where the kernel runs, for the kernel.
            "\"mount -t hostfs none /mnt -o /proc/self/cwd && exec /bin/sh /mnt/init\"",
        ];
        Begin {
            program: kernel,
            args: args
                .iter()
                .flat_map(|arg| if arg.starts_with('"') { vec![*arg] } else { arg.split(' ').collect() })
                .map(Into::into)
                .collect(),
            environment: vec![
                ("PATH".into(), PATH.into()),
                ("HOME".into(), "/root".into()),
                ("INCAST_SEED".into(), random.into()),
            ],
        }
    }

    /// The script of its first program, where the host is up from `up` on, of the run's time.
    pub fn init(&self, up: Time) -> String {
        let Host { id, mtu, name, route, .. } = self;
        let segments = if self.gso { 65_535 } else { 1 };
        let mut init = format!(
            "export PATH={PATH} HOME=/root\n\
             mount -t devtmpfs dev /dev\n\
             set_up() {{\n\
             mount -t proc proc /proc && mount -t sysfs sys /sys &&\n\
             mkdir -p /dev/shm /dev/pts && mount -t devpts pts /dev/pts &&\n\
             mount -t tmpfs tmp /tmp && mount -t tmpfs run /run && mount -t tmpfs tmp /var/tmp &&\n\
             mount -t tmpfs shm /dev/shm &&\n\
             echo 1 > /proc/self/timerslack_ns &&\n\
             echo {name} > /proc/sys/kernel/hostname &&\n\
             echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6 &&\n\
             ip link set lo up &&\n\
             ip link set eth0 mtu {mtu} arp off gso_max_segs {segments} &&\n\
             ip address add {}/32 dev eth0 &&\n\
             ip link set eth0 up &&\n\
             ip route add 10.0.0.0/8 dev eth0 {route}\n\
             }}\n\
             set_up || echo '{SIGN}unready' > /dev/console\n\
             for name in {}; do [ ! -e /etc/$name ] || mount --bind /mnt/$name /etc/$name; done\n",
            address(*id),
            NAMES.join(" ")
        );
        let mut line = |text: std::fmt::Arguments<'_>| {
            init.write_fmt(text).expect("a string takes all");
            init.push('\n');
        };
        for (number, Setting { path, value, .. }) in self.settings.iter().enumerate() {
            line(format_args!(
                "echo {} > {path} || echo '{SIGN}refused {number}' > /dev/console",
                quoted(value)
            ));
        }
        line(format_args!("until_ns() {{ rest=$(($1 - $(date +%s%N)));"));
        line(format_args!(
            "  [ $rest -le 0 ] || sleep $((rest / 1000000000)).$(printf %09d $((rest % 1000000000))); }}"
        ));
        // A shell has its background processes ignore these signals, and what they start would too.
        line(format_args!("fresh='env --default-signal=INT,QUIT'; $fresh true || fresh="));
        for program in &self.programs {
            let Program { number, start, command, environment, output } = program;
            let at = start.map_or(0, |start| TIME_OF_DAY + start.max(up).as_ps() / 1000);
            let set: String =
                environment.iter().map(|(key, value)| format!("export {key}={}; ", quoted(value))).collect();
            line(format_args!(
                "(until_ns {at}; (cd /tmp; {set}exec $fresh sh -c {}) >> /mnt/{output} 2>&1; \
                 echo \"{SIGN}ended {number} $?\" > /dev/console) &",
                quoted(command)
            ));
        }
        // The first program must never end: the kernel would panic.
        line(format_args!("wait\nwhile :; do sleep 86400; done"));
        init
    }
}

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A word for the shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Reads what the first program says; anything may be in it.
pub(crate) fn event(line: &str) -> Option<Event> {
    if line == "unready" {
        return Some(Event::Unready);
    }
    let mut words = line.split(' ');
    let event = match (words.next()?, words.next()?.parse().ok()?) {
        ("refused", number) => Event::Refused(number),
        ("finished", number) => Event::Finished(number),
        ("ended", number) => Event::Ended(number, words.next()?.parse().ok()?),
        ("answered", number) => Event::Answered(number, words.next()?.parse().ok()?),
        _ => return None,
    };
    words.next().is_none().then_some(event)
}

/// A run's time on a guest's clock.
pub fn on_clock(time: Time) -> u64 {
    // Guests know nothing shorter than a nanosecond: what comes within one comes at its end.
    BOOT + time.as_ps().div_ceil(1000)
}

/// The run's time when a guest's clock shows `ns`.
pub(crate) fn of_clock(ns: u64) -> Time {
    Time::from_ps(ns.saturating_sub(BOOT).saturating_mul(1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_back_to_its_host() {
        for host in [0, 1, 254, 255, 8191] {
            assert_eq!(host_of(address(HostId(host)), 8192), Some(HostId(host)));
        }
        assert_eq!(host_of(address(HostId(8192)), 8192), None);
        assert_eq!(host_of(Ipv4Addr::new(9, 255, 255, 255), 8192), None);
    }

    #[test]
    fn what_the_first_program_says_is_read() {
        assert_eq!(event("ended 3 0"), Some(Event::Ended(3, 0)));
        assert_eq!(event("finished 2"), Some(Event::Finished(2)));
        assert_eq!(event("refused 1"), Some(Event::Refused(1)));
        assert_eq!(event("answered 7 130"), Some(Event::Answered(7, 130)));
        assert_eq!(event("unready"), Some(Event::Unready));
        for other in ["", "ended", "ended 3", "ended x 0", "ended 3 0 0", "begun 3"] {
            assert_eq!(event(other), None, "{other}");
        }
    }

    #[test]
    fn all_hosts_have_their_names() {
        let text = names(["host0", "switchless"].into_iter());
        assert_eq!(text, "127.0.0.1 localhost\n10.0.0.1 host0\n10.0.0.2 switchless\n");
    }

    #[test]
    fn a_word_stays_one_word() {
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
    }

    #[test]
    fn clocks_agree_to_the_nanosecond() {
        assert_eq!(on_clock(Time::ZERO), BOOT);
        assert_eq!(on_clock(Time::from_ps(1001)), BOOT + 2);
        assert_eq!(of_clock(BOOT + 2), Time::from_ns(2));
    }
}
