//! libFuzzer on `fuzz::mine_node::messages`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::mine_node::messages(bytes));
