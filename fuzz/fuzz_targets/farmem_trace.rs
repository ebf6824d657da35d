//! libFuzzer on `fuzz::farmem::trace`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::farmem::trace(bytes));
