//! Who we are, as the protocol has it.

use std::sync::LazyLock;

use wire::initialize::Ourselves;
use wire::meta;

/// What we call ourselves on the wire.
pub const OURSELVES: Ourselves<'static> = Ourselves { name: "toolcrib", version: env!("CARGO_PKG_VERSION") };

/// Who we are, as JSON text.
pub(crate) static OUR_INFO: LazyLock<String> = LazyLock::new(|| OURSELVES.json());

/// The `_meta` of a modern result of ours, as JSON text.
pub(crate) static OUR_META: LazyLock<String> =
    LazyLock::new(|| format!("{{\"{}\":{}}}", meta::SERVER_INFO, *OUR_INFO));
