//! What happens to an upstream: it is connected to, looked after, listed anew, let go and ended.

mod end;
mod idle;
mod pooled;
mod publish;
mod read;
mod report;
mod start;
mod stay;
mod tend;

pub use end::END_TIMEOUT;
