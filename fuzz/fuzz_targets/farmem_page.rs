//! libFuzzer on `fuzz::farmem::packed_page`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::farmem::packed_page(bytes));
