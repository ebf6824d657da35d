//! Hadoop's messages: what the master, a NodeManager and a data node make of anything that comes on their
//! streams.

use crate::alone::{Strangers, alone};
use ::shuffle::{Costs, Framework, Job, build};
use process::{Addr, HostId, Process};
use rand::SeedableRng;
use rand_pcg::Pcg64;
use units::{Rate, Time};

const PORT: u16 = 5000;
/// Two compute nodes, the master, two data nodes.
const HOSTS: usize = 5;

fn job(framework: Framework) -> Job {
    let rate = Rate::from_gbps(1);
    Job {
        framework,
        bytes: 4 << 20,
        block: 1 << 20,
        master: HostId(2),
        compute: vec![HostId(0), HostId(1)],
        data: vec![HostId(3), HostId(4)],
        log_nodes: vec![HostId(4)],
        slots: 2,
        reduces: 2,
        input_replication: 1,
        output_replication: 2,
        log_bytes: 1000,
        parallel_copies: 2,
        slow_start: (0.05, 1.0),
        io_sort: 1 << 20,
        reduce_memory: 2 << 20,
        shuffle_buffer: 0.7,
        merge_at: 0.66,
        costs: Costs {
            map_rate: rate,
            sort_rate: rate,
            merge_rate: rate,
            reduce_rate: rate,
            variation: 0.0,
            page_cache: 0.5,
            job_submit: Time::from_ms(1),
            master_start: Time::from_ms(1),
            master_rpcs: 1,
            container_start: Time::from_ms(1),
            localisation_rpcs: 1,
            container_rpcs: 1,
            task_setup: Time::from_ms(1),
            task_commit: Time::from_ms(1),
            map_rpcs: 1,
            reduce_rpcs: 1,
            job_commit: Time::from_ms(1),
            commit_rpcs: 1,
            heartbeat: Time::from_ms(10),
            master_heartbeat: Time::from_ms(10),
            umbilical: Time::from_ms(5),
            assignments: 2,
            socket_timeout: Time::from_secs(1),
            fetch_penalty: Time::from_ms(10),
            node_expiry: Time::from_secs(2),
        },
    }
}

/// The process of a host, and the host.
fn node(framework: Framework, host: HostId) -> Box<dyn Process> {
    let processes = build(job(framework), HOSTS, &mut Pcg64::seed_from_u64(1), PORT).expect("a good job");
    let mut found = processes.into_iter().filter(|(at, _)| *at == host);
    found.next().expect("each host has a part").1
}

/// Messages on streams of a host: the first byte says which host and which framework; then each message has a
/// byte for its stream (the first ones are streams that the host has opened), one for its length, and its
/// content. Lengths on the stream are right, unless the content begins with 255: then it comes as it is. What
/// is wrong ends the stream.
pub fn messages(bytes: &[u8]) {
    let Some((&kind, mut rest)) = bytes.split_first() else { return };
    let framework = if kind & 1 == 0 { Framework::MapReduce } else { Framework::Tez };
    let host = HostId(u32::from(kind >> 1) % HOSTS as u32);
    let mut world = alone(host, node(framework, host));
    let mut strangers = Strangers::new(Addr { host, port: PORT });
    world.step(9);
    while let [which, length, after @ ..] = rest {
        let (content, after) = after.split_at(usize::from(*length).min(after.len()));
        let at = usize::from(*which % 8);
        let own = world.opened_by(0).get(at).copied().filter(|_| which & 8 == 0);
        let stream = own.or_else(|| strangers.stream(&mut world, at, at as u32 % 3).map(|stream| stream.0));
        if let Some(stream) = stream {
            let frame = [&(content.len() as u16).to_le_bytes(), content].concat();
            world.arrive(stream, content.strip_prefix(&[255]).unwrap_or(&frame));
        }
        world.step(4);
        rest = after;
    }
    world.step(50);
}
