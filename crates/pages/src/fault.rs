//! `Fault`: why a page is not shown, in words for the model that asked for it.

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    #[error("it cannot be parsed as HTML; read it as html")]
    Html,
    #[error("it came without sound selectors for its results")]
    Selectors,
    #[error("it is damaged or cut short")]
    Pdf,
    #[error("none of its pages is found, so it may be damaged or cut short")]
    NoPages,
    #[error("it is encrypted, and nobody reads it without its password; look for another copy")]
    Encrypted,
    #[error(
        "no text was found on the first {read} of its {of} pages: they may be pictures, which are not read"
    )]
    NoText { read: u32, of: u32 },
}

impl Fault {
    /// As programs know it.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Fault::Html | Fault::Selectors | Fault::Pdf | Fault::NoPages => "damaged",
            Fault::Encrypted => "encrypted",
            Fault::NoText { .. } => "no_text",
        }
    }
}
