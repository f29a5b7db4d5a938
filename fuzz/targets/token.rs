//! A token that a caller brings.
#![no_main]

#[path = "../token_entry.rs"]
mod token_entry;

libfuzzer_sys::fuzz_target!(|data: &[u8]| token_entry::token(data));
