//! The lines of the audit log in the forms that other programs read. JSON Lines need no work: the lines are that.

mod csv;
mod otlp;

pub use csv::{csv_head, csv_row};
pub use otlp::{LOGS_BYTES_MAX, LOGS_MAX, otlp_logs};
