//! The protocol revisions and one table of what differs between them.

/// A revision of the Model Context Protocol, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// 2024-11-05, the first one published.
    V2024_11_05,
    /// 2025-03-26: Streamable HTTP, batches, audio, tool annotations.
    V2025_03_26,
    /// 2025-06-18: structured content, no more batches, version header.
    V2025_06_18,
    /// 2025-11-25: the last one with a handshake.
    V2025_11_25,
}

impl Revision {
    /// All that we speak, oldest first.
    pub const ALL: [Revision; 4] =
        [Revision::V2024_11_05, Revision::V2025_03_26, Revision::V2025_06_18, Revision::V2025_11_25];

    /// What we answer when a client names a revision we do not know.
    pub const LATEST: Revision = Revision::V2025_11_25;

    /// What an HTTP request without a version header is taken for (2025-06-18, "Protocol Version Header").
    pub const UNSAID_OVER_HTTP: Revision = Revision::V2025_03_26;

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Revision::V2024_11_05 => "2024-11-05",
            Revision::V2025_03_26 => "2025-03-26",
            Revision::V2025_06_18 => "2025-06-18",
            Revision::V2025_11_25 => "2025-11-25",
        }
    }

    /// The revision of this name.
    pub fn parse(name: &str) -> Option<Revision> {
        Revision::ALL.into_iter().find(|revision| revision.name() == name)
    }

    /// What a handshake that asks for `name` settles on: that revision, or the latest.
    pub fn negotiate(name: &str) -> Revision {
        Revision::parse(name).unwrap_or(Revision::LATEST)
    }

    /// True if messages may come in JSON-RPC batches.
    pub fn has_batches(self) -> bool {
        self == Revision::V2025_03_26
    }

    /// True if tools carry `annotations`.
    pub fn has_annotations(self) -> bool {
        self >= Revision::V2025_03_26
    }

    /// True if content blocks may be audio.
    pub fn has_audio(self) -> bool {
        self >= Revision::V2025_03_26
    }

    /// True if progress may carry a `message`.
    pub fn has_progress_message(self) -> bool {
        self >= Revision::V2025_03_26
    }

    /// True if tools have `title` and `outputSchema`, and results `structuredContent`.
    pub fn has_structured_content(self) -> bool {
        self >= Revision::V2025_06_18
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_and_unknown_ones_get_the_latest() {
        for revision in Revision::ALL {
            assert_eq!(Revision::negotiate(revision.name()), revision);
        }
        for unknown in ["2026-07-28", "1.0", ""] {
            assert_eq!(Revision::negotiate(unknown), Revision::LATEST);
        }
    }

    #[test]
    fn the_table_of_differences() {
        let row = |revision: Revision| {
            [
                revision.has_batches(),
                revision.has_annotations(),
                revision.has_audio(),
                revision.has_progress_message(),
                revision.has_structured_content(),
            ]
        };
        assert_eq!(row(Revision::V2024_11_05), [false; 5]);
        assert_eq!(row(Revision::V2025_03_26), [true, true, true, true, false]);
        assert_eq!(row(Revision::V2025_06_18), [false, true, true, true, true]);
        assert_eq!(row(Revision::V2025_11_25), row(Revision::V2025_06_18));
    }
}
