//! What happens to an upstream: it is connected to, looked after, listed anew, let go and ended.

mod end;
mod pooled;
mod publish;
mod renew;
mod start;
mod tend;
mod turns;

pub use end::END_TIMEOUT;
