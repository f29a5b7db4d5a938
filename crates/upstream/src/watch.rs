//! `ServerWatch`: hears what becomes of the confined programs of servers.

use sandbox::confine::{Layer, Limit};
use sandbox::egress::Entry;

/// Whoever counts and records. Nothing of it waits for a disk as a rule: it is told by the thread that answers.
pub trait ServerWatch: Send + Sync {
    /// A program of this profile runs.
    fn started(&self, profile: &'static str);

    /// A program does not run, since this layer of the sandbox is missing.
    fn not_started(&self, layer: Layer);

    /// A limit has ended a program.
    fn ended_by(&self, limit: Limit);

    /// A program was refused so many hosts more.
    fn blocked(&self, hosts: u64);

    /// What a server's program had to do with a host since then (milliseconds since 1970), within one hour.
    fn reached(&self, server: &str, since_ms: i64, entry: &Entry);
}
