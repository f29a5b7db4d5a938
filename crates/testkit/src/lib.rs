//! For tests only: a workspace from a few words, a tool run in it, and the outcome as text to compare.
//!
//! Tools are called as the gate calls them, through their schema and with a permit, but nobody is asked and
//! nothing is recorded. What the gate itself does is tested in the gate.

mod catalogue;
mod kept;
mod kept_state;
mod run;
mod sample_gate;
mod sample_pins;
mod sample_programs;
mod sample_source;
mod sample_walk;
mod schema;
mod show;
mod workspace;

pub use catalogue::check_catalogue;
pub use kept::Kept;
pub use kept_state::KeptState;
pub use run::{
    call, call_answering, call_in, call_keeping, call_noting, call_with, check_call, check_tool, keep_secret,
};
pub use sample_gate::SampleGate;
pub use sample_pins::SamplePins;
pub use sample_programs::program_tools;
pub use sample_source::{
    SAMPLE_SOURCE, Watched, many_tools, offer_burning_source, offer_large_source, offer_sample_source,
};
pub use sample_walk::{Walk, offer_one_more, offer_walk};
pub use show::show;
pub use workspace::{TIME, Workspace};
