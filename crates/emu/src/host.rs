//! What a guest is to be: its kernel, its address, what is set and which programs run.

use crate::console::SIGN;
use crate::error::Error;
use crate::guest::{BOOT, Card, NOTES, TIME_OF_DAY};
use process::HostId;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::child::Begin;
use units::Time;

/// The first program's script, in the guest's folder.
pub const INIT: &str = "init";
/// What stands in the place of `/etc/hosts`, and of `/etc/resolv.conf`, in the guest's folder.
pub const NAMES: [&str; 2] = ["hosts", "resolv.conf"];
/// Where a guest sees its folder. It hides no folder of this machine: `/run` is a guest's own.
pub const PLACE: &str = "/run/incast";
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
    /// Packets that its network card keeps between two interrupts at most.
    pub receive_ring: u32,
    /// TCP hands its network card several segments at a time.
    pub gso: bool,
    /// The network card cuts segments itself.
    pub tso: bool,
    /// Speed of its processor, as a multiple of this machine's; none: computing takes no time.
    pub cpu_rate: Option<f64>,
    /// It computes for so long of real time without waiting at most.
    pub patience: Duration,
    /// Settings of its kernel.
    pub settings: Vec<Setting>,
    /// Options of its route to all others, as ip-route(8) has them (`initcwnd 20`).
    pub route: String,
    /// Folders of this machine that it sees even below folders of its own.
    pub seen: Vec<PathBuf>,
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
    /// It is set up, and waits for the run to begin.
    Ready,
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
            receive_ring: self.receive_ring,
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
            // The folder is where the kernel runs, for the kernel. It is at its place once there is a `/run`.
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
            reads: false,
        }
    }

    /// How its first program begins where it is a part of this machine: with its own processes, mounts and
    /// names, in the network where it is started, on these processors.
    pub fn begin_here(processors: &[usize]) -> Begin {
        let list: Vec<String> = processors.iter().map(usize::to_string).collect();
        let list = list.join(",");
        let own = "unshare --mount --uts --ipc --pid --fork --kill-child /bin/sh";
        Begin {
            program: "taskset".into(),
            args: ["-c", &list].into_iter().chain(own.split(' ')).chain([INIT]).map(Into::into).collect(),
            environment: vec![("PATH".into(), PATH.into()), ("HOME".into(), "/root".into())],
            reads: true,
        }
    }

    /// Leaves the script of its first program in its folder.
    ///
    /// # Errors
    /// A folder that can't be written to.
    pub(crate) fn leave_init(&self, folder: &Path, script: &str) -> Result<(), Error> {
        let path = folder.join(INIT);
        std::fs::write(&path, script).map_err(|error| Error::Folder { path, error })
    }

    /// The script of its first program, where the host is up from `up` on, of the run's time.
    pub fn init(&self, up: Time) -> String {
        let segments = if self.gso { 65_535 } else { 1 };
        let set_up = format!(
            "mkdir -p /dev/shm /dev/pts &&\n\
             {} &&\n\
             echo 1 > /proc/self/timerslack_ns &&\n\
             {}\n",
            self.mounts(&SYSTEM_FOLDERS),
            self.network(&format!("gso_max_segs {segments}"))
        );
        let settings = self.settings.iter().enumerate();
        let settings = settings.map(|(number, setting)| setting.write(&refused(number, CONSOLE)));
        let at = |start: Time| (TIME_OF_DAY + start.max(up).as_ps() / 1000).to_string();
        let programs = self
            .programs
            .iter()
            .map(|program| program.line(&program.start.map_or("0".to_owned(), at), CONSOLE));
        format!(
            "export PATH={PATH} HOME=/root\n\
             mount -t devtmpfs dev /dev\n\
             {}{}{PROGRAMS}{}{REST}",
            self.set_up(&set_up, CONSOLE),
            settings.collect::<String>(),
            programs.collect::<String>()
        )
    }

    /// The same where the host is a part of this machine, whose files it sees and can't change. When its
    /// programs may begin, it reads the time of day when the run has begun; `here` is how long after that a
    /// time of the run is. Its network card sends so many bits a second.
    pub fn init_here(&self, here: impl Fn(Time) -> Duration, rate: u64) -> String {
        let segments = if self.gso { 65_535 } else { 1 };
        // A packet leaves the kernel's queue as fast as the network card can send: behind it nothing would
        // hold TCP back. The card's own queue is for while it may not send (PFC).
        let burst = (rate / 8 / BURSTS_A_SECOND).clamp(2 * u64::from(self.mtu) + 100, 65_536);
        // Several segments go there as one, with a header for each: no more than a burst, or they would be
        // cut.
        let card = format!("gso_max_segs {segments} gso_max_size {}", burst - burst / 8);
        // Sleeps are as on other hosts: whoever starts it has exact ones.
        let set_up = format!(
            "echo 50000 > /proc/self/timerslack_ns\n\
             while read -r _ place _; do\n\
             case $place in /proc|/proc/*|/sys|/sys/*) continue;; esac\n\
             mount -o remount,bind,ro \"$(printf %b \"$place\")\" || return\n\
             done < /proc/self/mounts\n\
             mount --bind . /mnt && mount -o remount,bind,rw /mnt &&\n\
             mount -t proc proc /proc && mount -t sysfs sys /sys &&\n\
             mount -t tmpfs dev /run && mkdir -p /run/dev/shm /run/dev/pts &&\n\
             for device in null zero full random urandom tty; do\n\
             : > /run/dev/$device && mount --bind /dev/$device /run/dev/$device || return; done &&\n\
             ln -s /proc/self/fd /run/dev/fd && ln -s pts/ptmx /run/dev/ptmx &&\n\
             mount --rbind /run/dev /dev &&\n\
             mount -t devpts -o newinstance,ptmxmode=0666 pts /dev/pts &&\n\
             {} &&\n\
             {} &&\n\
             ip link set eth0 txqueuelen {CARD_QUEUE} &&\n\
             tc qdisc replace dev eth0 root tbf rate {rate}bit burst {burst} limit {HOST_QUEUE}\n",
            self.mounts(&[]),
            self.network(&card)
        );
        let settings = self.settings.iter().enumerate();
        let settings = settings.map(|(number, setting)| setting.write_here(&refused(number, SAY)));
        let at = |start: Time| format!("$((begun + {}))", here(start).as_nanos());
        let programs =
            self.programs.iter().map(|program| program.line(&program.start.map_or("0".to_owned(), &at), SAY));
        format!(
            "{}{}{PROGRAMS}echo '{SIGN}ready'\nread -r begun\n{}{REST}",
            self.set_up(&set_up, SAY),
            settings.collect::<String>(),
            programs.collect::<String>()
        )
    }

    /// The commands that make its network, joined; `card` is more about its network card.
    fn network(&self, card: &str) -> String {
        let Host { id, name, mtu, route, .. } = self;
        format!(
            "echo {name} > /proc/sys/kernel/hostname &&\n\
             echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6 &&\n\
             ip -batch - << end\n\
             link set lo up\n\
             link set eth0 mtu {mtu} arp off {card}\n\
             address add {}/32 dev eth0\n\
             link set eth0 up\n\
             route add 10.0.0.0/8 dev eth0 {route}\n\
             end\n\
             [ $? = 0 ]",
            address(*id)
        )
    }

    /// The commands that mount these folders and those that are its own, joined, and bring its folder from
    /// `/mnt` to its place. One command mounts all: to start a program is half of what a host costs to start.
    fn mounts(&self, system: &[(&str, &str)]) -> String {
        let all = system.iter().chain(&OWN_FOLDERS);
        let lines: String = all.map(|(kind, folder)| format!("none {folder} {kind}\n")).collect();
        let mount = format!("echo '{lines}' > /dev/mounts && mount --all --fstab /dev/mounts");
        // What is to be seen is put aside before something else covers it.
        let seen: Vec<String> =
            self.covered().iter().map(|folder| quoted(&folder.to_string_lossy())).collect();
        let aside = seen.iter().enumerate().map(|(number, folder)| {
            format!("mkdir -p /dev/seen{number} && mount --bind {folder} /dev/seen{number}")
        });
        let back = seen
            .iter()
            .enumerate()
            .map(|(number, folder)| format!("mkdir -p {folder} && mount --move /dev/seen{number} {folder}"));
        let own = format!("mkdir {PLACE} && mount --move /mnt {PLACE}");
        aside.chain([mount]).chain(back).chain([own]).collect::<Vec<_>>().join(" &&\n")
    }

    /// The folders to be seen that lie in its own ones; those in others of them are seen with these.
    fn covered(&self) -> Vec<&Path> {
        let is_covered = |folder: &&Path| {
            OWN_FOLDERS.iter().any(|(_, own)| *folder != Path::new(own) && folder.starts_with(own))
        };
        let mut all: Vec<&Path> = self.seen.iter().map(PathBuf::as_path).filter(is_covered).collect();
        all.sort_unstable();
        all.dedup_by(|folder, before| folder.starts_with(before));
        all
    }

    /// What has to succeed, and the names of hosts.
    fn set_up(&self, commands: &str, say: &str) -> String {
        format!(
            "set_up() {{\n\
             {commands}\
             }}\n\
             set_up || echo '{SIGN}unready' {say}\n\
             for name in {}; do [ ! -e /etc/$name ] || mount --bind {PLACE}/$name /etc/$name; done\n",
            NAMES.join(" ")
        )
    }
}

impl Setting {
    /// Writes it, or does something else.
    fn write(&self, or: &str) -> String {
        format!("echo {} > {} || {or}\n", quoted(&self.value), self.path)
    }

    /// The same on this machine. What holds for all of it is not changed: it has to be so already.
    fn write_here(&self, or: &str) -> String {
        let Setting { path, value, .. } = self;
        if path.starts_with("/proc/sys/net/") {
            return self.write(or);
        }
        let value = quoted(value);
        format!(
            "[ \"$(cat {path})\" = {value} ] || \
             {{ echo \"{path} is $(cat {path}) for this whole machine, not \"{value}; {or}; }}\n"
        )
    }
}

/// Says that a setting was refused.
fn refused(number: usize, say: &str) -> String {
    format!("echo '{SIGN}refused {number}' {say}")
}

impl Program {
    /// Runs it in the background when the time of day is `at`; says when it has ended.
    fn line(&self, at: &str, say: &str) -> String {
        let Program { number, command, environment, output, .. } = self;
        let set: String =
            environment.iter().map(|(key, value)| format!("export {key}={}; ", quoted(value))).collect();
        format!(
            "(until_ns {at}; (cd /tmp; {set}exec $fresh sh -c {}) >> {PLACE}/{output} 2>&1; \
             echo \"{SIGN}ended {number} $?\" {say}) &\n",
            quoted(command)
        )
    }
}

/// Where a guest's first program says something, and where a host's of this machine does.
const CONSOLE: &str = "> /dev/console";
const SAY: &str = ">&1";
/// Folders of a kernel, and the kind of each.
const SYSTEM_FOLDERS: [(&str, &str); 3] = [("proc", "/proc"), ("sysfs", "/sys"), ("devpts", "/dev/pts")];
/// Folders that are a host's own, gone with it, and the kind of each.
const OWN_FOLDERS: [(&str, &str); 4] =
    [("tmpfs", "/tmp"), ("tmpfs", "/run"), ("tmpfs", "/var/tmp"), ("tmpfs", "/dev/shm")];
/// What programs need. A shell has its background processes ignore these signals, and what they start would
/// too.
const PROGRAMS: &str = "\
until_ns() { rest=$(($1 - $(date +%s%N)));
  [ $rest -le 0 ] || sleep $((rest / 1000000000)).$(printf %09d $((rest % 1000000000))); }
fresh='env --default-signal=INT,QUIT'; $fresh true || fresh=
";
/// The first program must never end: the kernel would panic.
const REST: &str = "wait\nwhile :; do sleep 86400; done\n";
/// Packets that a network card holds while it may not send.
const CARD_QUEUE: u32 = 10_000;
/// Bytes that wait for a network card at most.
const HOST_QUEUE: u32 = 16 << 20;
/// A host hands its network card as much at once as that sends in such a part of a second.
const BURSTS_A_SECOND: u64 = 1_000;
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A word for the shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Reads what the first program says; anything may be in it.
pub(crate) fn event(line: &str) -> Option<Event> {
    match line {
        "unready" => return Some(Event::Unready),
        "ready" => return Some(Event::Ready),
        _ => {}
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
        assert_eq!(event("ready"), Some(Event::Ready));
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
    fn folders_in_its_own_are_seen_once() {
        let seen =
            ["/tmp/b/c", "/tmp", "/home/x", "/tmp/b", "/tmp/bc", "/run/x", "/tmp/b"].map(PathBuf::from);
        let host = crate::setting::host(HostId(0), "host0", &sim::HostConfig::default(), &[]);
        let host = Host { seen: seen.into(), ..host };
        assert_eq!(host.covered(), ["/run/x", "/tmp/b", "/tmp/bc"].map(Path::new));
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
