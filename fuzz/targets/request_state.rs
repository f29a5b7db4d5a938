//! The state that a client brings with a further round of a call.
#![no_main]

#[path = "../state_entry.rs"]
mod state_entry;

libfuzzer_sys::fuzz_target!(|data: &[u8]| state_entry::request_state(data));
