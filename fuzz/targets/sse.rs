//! Hands whatever the fuzzer makes up to `entries::sse`.
#![no_main]

#[path = "../entries.rs"]
mod entries;

libfuzzer_sys::fuzz_target!(|data: &[u8]| entries::sse(data));
