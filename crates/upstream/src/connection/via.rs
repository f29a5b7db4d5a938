//! `Via`: which way a message of a server came.

/// Which way a message of the server came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Via {
    /// A way that all requests share: a pipe, or the stream of one GET.
    Shared,
    /// The stream that answers this request of ours alone.
    Request(u64),
}
