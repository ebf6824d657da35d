//! What takes bytes from outside, each as a function of these bytes: it panics when a promise is broken.
//!
//! The targets of cargo-fuzz (folder `fuzz`) call these functions with what a coverage-guided search comes up
//! with, `tests/any_bytes.rs` with random bytes and damaged valid ones on every test run. Not here: the graph
//! readers, which are Python (tests/python/test_any_graph.py).

mod alone;
pub mod broadcast;
pub mod emu;
pub mod farmem;
pub mod files;
pub mod live;
pub mod mine;
pub mod mine_node;
pub mod record;
pub mod rpc;
pub mod scenario;
pub mod shuffle;
pub mod traffic;
pub mod units;
pub mod walk;

/// Panics when a promise about these bytes is broken.
pub type Target = fn(&[u8]);

/// All targets by name.
pub const TARGETS: [(&str, Target); 32] = [
    ("broadcast_messages", broadcast::messages),
    ("broadcast_plan", broadcast::plan),
    ("broadcast_topology", broadcast::topology),
    ("emu_console", emu::console),
    ("emu_offload", emu::offload),
    ("emu_packet", emu::packet),
    ("emu_queues", emu::queues),
    ("farmem_client", farmem::memory_client),
    ("farmem_messages", farmem::messages),
    ("farmem_page", farmem::packed_page),
    ("farmem_server", farmem::memory_server),
    ("farmem_trace", farmem::trace),
    ("files_journal", files::journal),
    ("files_layout", files::layout),
    ("live_hello", live::hello),
    ("live_sealed", live::sealed),
    ("live_table", live::table),
    ("mine_journal", mine::journal),
    ("mine_messages", mine_node::messages),
    ("mine_text", mine::text),
    ("record_table", record::table),
    ("rpc_messages", rpc::messages),
    ("scenario", scenario::spec),
    ("shuffle_messages", shuffle::messages),
    ("traffic_coflows", traffic::coflow_trace),
    ("traffic_sizes", traffic::size_distribution),
    ("units", units::text),
    ("walk_datagram", walk::datagram),
    ("walk_graph", walk::graph),
    ("walk_journal", walk::journal),
    ("walk_owners", walk::owners),
    ("walk_server", walk::server),
];
