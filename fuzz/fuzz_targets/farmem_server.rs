//! libFuzzer on `fuzz::farmem::memory_server`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::farmem::memory_server(bytes));
