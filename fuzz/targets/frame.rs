//! Hands whatever the fuzzer makes up to `entries::frame`.
#![no_main]

#[path = "../entries.rs"]
mod entries;

libfuzzer_sys::fuzz_target!(|data: &[u8]| entries::frame(data));
