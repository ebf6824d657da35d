//! libFuzzer on `fuzz::walk::datagram`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::walk::datagram(bytes));
