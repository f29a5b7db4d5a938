//! Hands whatever the fuzzer makes up to `entries::headers`.
#![no_main]

#[path = "../entries.rs"]
mod entries;

libfuzzer_sys::fuzz_target!(|data: &[u8]| entries::headers(data));
