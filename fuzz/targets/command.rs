//! A text for bash, and what it runs.
#![no_main]

#[path = "../setting_entries.rs"]
mod setting_entries;

libfuzzer_sys::fuzz_target!(|data: &[u8]| setting_entries::command(data));
