//! libFuzzer on `fuzz::farmem::messages`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::farmem::messages(bytes));
