//! `Fault`: why a page is not shown, in words for the model that asked for it.

#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error("it cannot be parsed as HTML; read it as html")]
    Html,
}

impl Fault {
    /// As programs know it.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Fault::Html => "damaged",
        }
    }
}
