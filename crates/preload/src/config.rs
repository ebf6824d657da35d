//! What the launcher wants, in one variable of the environment, so that programs which this one starts get it
//! too.
//!
//! `INCAST_FARMEM=key=value,…`: `local` (bytes), `page` (bytes), `latency` (ps), `rate` (bit/s), `policy`,
//! `read_ahead` (pages), `pages_a_request`, `trace` (1 or 0), `asked` (bytes+bytes+…), `codec`, `cpus`
//! (bits), `folder` (where statistics go), `server` (IP:PORT of a memory server; its key is the file
//! `server.key` there), `timeout` (ms). The launcher has checked them; what can't be is refused all the same.

use crate::raw;
use farmem::cache::Policy;
use farmem::codec::Codec;
use farmem::cost::{Cost, Way};
use farmem::wire::Key;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::*};
use units::{Rate, Time};

/// Most bytes of pages that wait to be sent to a server.
const LEAVING_MAX: usize = 64 << 10;
/// The least pages that local memory may have: an instruction can touch several, and a system call more.
pub(crate) const LEAST: usize = 16;
/// Name of the variable.
pub(crate) const VARIABLE: &str = "INCAST_FARMEM";
/// The same for the C library.
pub(crate) const NAME: &std::ffi::CStr = c"INCAST_FARMEM";

static CONFIG: OnceLock<Config> = OnceLock::new();
/// Whether the program's memory is ours to give. Until then, and where nobody wants it, all is local.
static ON: AtomicBool = AtomicBool::new(false);
/// Whether some of it is remote.
static REMOTE: AtomicBool = AtomicBool::new(false);

/// Whether the program's memory may become remote.
#[inline]
pub(crate) fn is_on() -> bool {
    ON.load(Acquire)
}

/// Whether memory is remote already.
#[inline]
pub(crate) fn is_remote() -> bool {
    REMOTE.load(Acquire)
}

/// Memory is remote from now on; false where it was before.
pub(crate) fn becomes_remote() -> bool {
    !REMOTE.swap(true, AcqRel)
}

/// What the launcher wants.
#[inline]
pub(crate) fn config() -> &'static Config {
    CONFIG.get().unwrap_or_else(|| raw::die("it has not begun"))
}

/// Takes note of what the launcher wants, once; the program's memory is ours to give when [`go`] has said so.
pub(crate) fn set(config: Config) -> bool {
    CONFIG.set(config).is_ok()
}

/// From now on memory may become remote.
pub(crate) fn go() {
    ON.store(true, Release);
}

/// Where a server is, and how it is spoken to.
#[derive(Clone, Debug)]
pub(crate) struct MemoryServer {
    pub(crate) at: SocketAddr,
    pub(crate) key: Key,
    /// How long it may take to answer.
    pub(crate) timeout_ms: u64,
    /// Bytes of pages that may wait to be sent: a part of local memory.
    pub(crate) leaving_bytes: usize,
}

/// What the launcher wants.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// Local memory.
    pub(crate) local: usize,
    /// Page that remote memory is asked for.
    pub(crate) page: usize,
    pub(crate) policy: Policy,
    /// What is waited; nothing where a server takes its own time only.
    pub(crate) cost: Option<Cost>,
    /// How pages are compressed, if they are.
    pub(crate) codec: Option<Codec>,
    /// Pages that are fetched along with one.
    pub(crate) read_ahead: usize,
    /// Processors of the launcher, a bit each; 0 for none that are known.
    pub(crate) cpus: u64,
    /// Whether a trace is wanted, too.
    pub(crate) trace: bool,
    /// Local memories that the trace is asked about, in pages ([`farmem::pace`]).
    pub(crate) asked: Vec<u32>,
    /// Folder of the statistics; empty for none.
    pub(crate) folder: String,
    /// A memory server; nothing where the process itself keeps what is remote.
    pub(crate) server: Option<MemoryServer>,
}

impl Config {
    /// From the text of the variable.
    pub(crate) fn parse(text: &str) -> Result<Config, String> {
        let mut config = Config {
            local: 0,
            page: 4096,
            policy: Policy::Fifo,
            cost: None,
            codec: None,
            read_ahead: 0,
            trace: false,
            asked: Vec::new(),
            cpus: 0,
            folder: String::new(),
            server: None,
        };
        let (mut latency, mut rate, mut pages_a_request) = (0, 0, 1);
        let (mut server, mut asked, mut timeout_ms) = (None, "", 10_000);
        for pair in text.split(',') {
            let (key, value) =
                pair.split_once('=').ok_or_else(|| format!("{VARIABLE}: {pair} is not key=value"))?;
            let number =
                || value.parse::<u64>().map_err(|_| format!("{VARIABLE}: {key}={value} is not a number"));
            match key {
                "local" => config.local = number()? as usize,
                "page" => config.page = number()? as usize,
                "latency" => latency = number()?,
                "rate" => rate = number()?,
                "read_ahead" => config.read_ahead = number()? as usize,
                "trace" => config.trace = number()? != 0,
                "cpus" => config.cpus = number()?,
                "pages_a_request" => pages_a_request = number()? as u32,
                "policy" => config.policy = policy(value)?,
                "codec" => config.codec = Some(codec(value)?),
                "asked" => asked = value,
                "server" => server = Some(value),
                "timeout" => timeout_ms = number()?,
                "folder" => config.folder = value.to_owned(),
                _ => return Err(format!("{VARIABLE}: nobody knows {key}")),
            }
        }
        let fits = config.page.is_power_of_two() && (12..=21).contains(&config.page.ilog2());
        if !fits
            || (rate == 0 && server.is_none())
            || config.local / config.page < LEAST
            || config.local >> 43 != 0
        {
            return Err(format!("{VARIABLE}: {text} can't be"));
        }
        for bytes in asked.split('+').filter(|bytes| !bytes.is_empty()) {
            let pages = bytes.parse::<usize>().ok().and_then(|bytes| u32::try_from(bytes / config.page).ok());
            let pages = pages.filter(|pages| (1..1 << 31).contains(pages));
            config.asked.push(pages.ok_or_else(|| format!("{VARIABLE}: asked={asked} can't be"))?);
        }
        let way = Way { pages_a_request, ..Way::new(Time::from_ps(latency), Rate::from_bps(rate)) };
        config.cost = (rate > 0).then_some(Cost { fetch: way, write_back: Some(way) });
        if let Some(at) = server {
            let at = at.parse().map_err(|_| format!("{VARIABLE}: server={at} is no address"))?;
            let leaving_bytes = (config.local / 8).min(LEAVING_MAX) / config.page * config.page;
            config.local -= leaving_bytes;
            config.server = Some(MemoryServer { at, key: key(&config.folder)?, timeout_ms, leaving_bytes });
        }
        Ok(config)
    }
}

fn policy(name: &str) -> Result<Policy, String> {
    let found = Policy::ALL.into_iter().find(|policy| policy.name() == name);
    found.ok_or_else(|| format!("{VARIABLE}: no policy is called {name}"))
}

fn codec(name: &str) -> Result<Codec, String> {
    let found = Codec::ALL.into_iter().find(|codec| codec.name() == name);
    found.ok_or_else(|| format!("{VARIABLE}: no codec is called {name}"))
}

fn key(folder: &str) -> Result<Key, String> {
    let file = Path::new(folder).join("server.key");
    let bytes = std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    bytes.try_into().map(Key).map_err(|_| format!("{}: 16 bytes are expected", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn refused(text: &str) -> String {
        Config::parse(text).expect_err(text)
    }

    #[test]
    fn what_the_launcher_wants_is_read() {
        let text = "local=1048576,page=65536,latency=10000000,rate=40000000000,policy=clock,read_ahead=4,\
            pages_a_request=8,trace=1,asked=65536+1310720,codec=lz4,cpus=5,folder=/tmp/a=b";
        let config = Config::parse(text).expect("it can be");
        assert_eq!((config.local, config.page, config.read_ahead, config.cpus), (1 << 20, 1 << 16, 4, 5));
        assert_eq!((config.policy, config.codec, config.trace), (Policy::Clock, Some(Codec::Lz4), true));
        assert_eq!((config.asked, config.folder.as_str()), (vec![1, 20], "/tmp/a=b"));
        let way = Way { pages_a_request: 8, ..Way::new(Time::from_us(10), Rate::from_gbps(40)) };
        assert_eq!(config.cost, Some(Cost { fetch: way, write_back: Some(way) }));
        assert!(config.server.is_none());
    }

    #[test]
    fn a_page_is_a_power_of_two_from_4_kib_to_2_mib() {
        for page in [0, 1, 2048, 4097, 4 << 20] {
            // A page of no bytes is refused before anything is divided by it.
            let text = format!("local=1073741824,rate=1,asked=4096,page={page}");
            assert!(refused(&text).ends_with("can't be"), "{page}");
        }
        for page in [4096, 2 << 20] {
            assert!(Config::parse(&format!("local=1073741824,rate=1,page={page}")).is_ok(), "{page}");
        }
    }

    #[test]
    fn local_memory_has_the_least_pages_and_fits_the_addresses() {
        assert!(Config::parse("rate=1,local=65536").is_ok());
        assert!(refused("rate=1,local=65535").ends_with("can't be"));
        assert!(refused(&format!("rate=1,local={}", 1u64 << 43)).ends_with("can't be"));
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_name() {
        for (text, name) in [
            ("", " is not key=value"),
            ("local", "local is not key=value"),
            ("local=many", "local=many is not a number"),
            ("colour=red", "nobody knows colour"),
            ("policy=best", "no policy is called best"),
            ("codec=zip", "no codec is called zip"),
            ("rate=1,local=65536,asked=4096+x", "asked=4096+x can't be"),
            ("rate=1,local=65536,asked=4095", "asked=4095 can't be"),
            ("local=65536", "can't be"),
        ] {
            assert!(refused(text).ends_with(name), "{text}: {}", refused(text));
        }
    }

    #[test]
    fn a_server_has_a_key_and_takes_a_part_of_local_memory() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path().display();
        let text = format!("local=65536,server=127.0.0.1:7000,timeout=250,folder={at}");
        assert!(refused(&text).contains("server.key"), "no key");
        std::fs::write(folder.path().join("server.key"), [7; 15]).expect("it can be written");
        assert!(refused(&text).ends_with("16 bytes are expected"));
        std::fs::write(folder.path().join("server.key"), [7; 16]).expect("it can be written");
        let config = Config::parse(&text).expect("it can be");
        let remote = config.server.expect("a server");
        assert_eq!((remote.at.port(), remote.timeout_ms, remote.key.0), (7000, 250, [7; 16]));
        assert_eq!((remote.leaving_bytes, config.local, config.cost), (8192, 65536 - 8192, None));
        assert!(refused(&text.replace("127.0.0.1:7000", "here")).ends_with("server=here is no address"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(pairs in prop::collection::vec(pair(), 0..8)) {
            if let Ok(config) = Config::parse(&pairs.join(",")) {
                prop_assert!(config.local / config.page >= LEAST);
                prop_assert!(config.asked.iter().all(|asked| *asked > 0));
            }
        }
    }

    fn pair() -> impl Strategy<Value = String> {
        const KEYS: [&str; 10] = [
            "local",
            "page",
            "latency",
            "rate",
            "policy",
            "read_ahead",
            "pages_a_request",
            "trace",
            "asked",
            "timeout",
        ];
        let number = prop_oneof![
            (0u32..64).prop_map(|bits| (1u64 << bits).to_string()),
            Just("0".to_owned()),
            any::<u64>().prop_map(|number| number.to_string()),
            "[0-9+a-z.=-]{0,12}",
        ];
        (prop::sample::select(&KEYS[..]), number).prop_map(|(key, value)| format!("{key}={value}"))
    }
}
