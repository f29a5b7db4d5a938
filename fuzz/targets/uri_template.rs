//! Hands whatever the fuzzer makes up to `entries::uri_template`.
#![no_main]

#[path = "../entries.rs"]
mod entries;

libfuzzer_sys::fuzz_target!(|data: &[u8]| entries::uri_template(data));
