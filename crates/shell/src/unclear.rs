//! `Unclear`: why it cannot be told what a text runs.

/// Longer texts are not looked at.
pub(crate) const BYTES_MAX: usize = 16 * 1024;

/// Why it cannot be told. Holds nothing of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unclear {
    /// Nobody reads it whole.
    #[error("the text is longer than {BYTES_MAX} bytes")]
    Long,
    /// The grammar has no place for something in it, or a reader could take it otherwise than bash does.
    #[error("the text cannot be read as bash")]
    Syntax,
    /// It takes too long to read.
    #[error("the text takes too long to read")]
    Slow,
    /// The name of a program is made while it runs.
    #[error("what is run is not written in the text")]
    Name,
    /// So is a word that matters.
    #[error("a word that matters is not written in the text")]
    Word,
    /// A shell reads what it runs from elsewhere, or a program does that starts others.
    #[error("what is run is read from elsewhere")]
    Elsewhere,
    /// It is typed to a program that runs already.
    #[error("a program that runs already reads it, and as it likes")]
    Typed,
    /// What names mean is changed.
    #[error("it changes what the names of programs mean")]
    Names,
    /// An option of a program that starts others is not known here.
    #[error("an option is not known here")]
    Option,
    /// Texts for shells in texts for shells.
    #[error("there is too much in it")]
    Much,
}
