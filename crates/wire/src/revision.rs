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
    /// 2026-07-28: no handshake and no sessions; every request says what it needs in `_meta`.
    V2026_07_28,
}

/// The names, in the order of the revisions.
const NAMES: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

impl Revision {
    /// All that we speak, oldest first.
    pub const ALL: [Revision; 5] = [
        Revision::V2024_11_05,
        Revision::V2025_03_26,
        Revision::V2025_06_18,
        Revision::V2025_11_25,
        Revision::V2026_07_28,
    ];

    /// What a handshake settles on if the client names a revision that has none, or one we do not know.
    pub const LATEST_LEGACY: Revision = Revision::V2025_11_25;

    /// The one without a handshake.
    pub const MODERN: Revision = Revision::V2026_07_28;

    /// What an HTTP request without a version header is taken for (2025-06-18, "Protocol Version Header").
    pub const UNSAID_OVER_HTTP: Revision = Revision::V2025_03_26;

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }

    /// The revision of this name.
    pub fn parse(name: &str) -> Option<Revision> {
        Revision::ALL.into_iter().find(|revision| revision.name() == name)
    }

    /// What a handshake that asks for `name` settles on: that revision, or the latest that has a handshake.
    pub fn negotiate(name: &str) -> Revision {
        Revision::parse(name).filter(|revision| !revision.is_modern()).unwrap_or(Revision::LATEST_LEGACY)
    }

    /// True for the revisions without handshake and sessions.
    pub fn is_modern(self) -> bool {
        self >= Revision::MODERN
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

    /// True if `structuredContent` may be any JSON value, not only an object.
    pub fn has_any_structure(self) -> bool {
        self.is_modern()
    }

    /// True if tools, prompts and resources have a `title` and entries of lists a `_meta`.
    pub fn has_titles(self) -> bool {
        self >= Revision::V2025_06_18
    }

    /// True if content blocks may be links to resources.
    pub fn has_resource_links(self) -> bool {
        self >= Revision::V2025_06_18
    }

    /// True if tools, prompts and resources have `icons`.
    pub fn has_icons(self) -> bool {
        self >= Revision::V2025_11_25
    }

    /// True if tools say in `execution` whether they run as tasks; the modern extension says it otherwise.
    pub fn has_execution(self) -> bool {
        self == Revision::V2025_11_25
    }

    /// True if a server may hang up in the middle of a stream and be asked for the rest.
    pub fn has_polling(self) -> bool {
        self == Revision::V2025_11_25
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_and_unknown_ones_get_the_latest_with_a_handshake() {
        for revision in Revision::ALL {
            assert_eq!(Revision::parse(revision.name()), Some(revision));
            let settled = if revision.is_modern() { Revision::LATEST_LEGACY } else { revision };
            assert_eq!(Revision::negotiate(revision.name()), settled);
        }
        for unknown in ["2026-07-29", "1.0", ""] {
            assert_eq!(Revision::negotiate(unknown), Revision::LATEST_LEGACY);
        }
    }

    #[test]
    fn the_table_of_differences() {
        let table: String = Revision::ALL
            .into_iter()
            .map(|revision| {
                let has = [
                    revision.has_batches(),
                    revision.has_annotations(),
                    revision.has_audio(),
                    revision.has_progress_message(),
                    revision.has_structured_content(),
                    revision.has_titles(),
                    revision.has_resource_links(),
                    revision.has_icons(),
                    revision.has_execution(),
                    revision.has_polling(),
                    revision.has_any_structure(),
                    revision.is_modern(),
                ];
                let row: String = has.map(|has| if has { 'x' } else { '.' }).iter().collect();
                format!("{} {row}\n", revision.name())
            })
            .collect();
        expect_test::expect![[r"
            2024-11-05 ............
            2025-03-26 xxxx........
            2025-06-18 .xxxxxx.....
            2025-11-25 .xxxxxxxxx..
            2026-07-28 .xxxxxxx..xx
        "]]
        .assert_eq(&table);
    }
}
