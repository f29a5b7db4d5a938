//! `Unknown`: why a request has no caller, in words for whoever sent it.

use std::borrow::Cow;
use std::time::Duration;

/// Why nobody known sends a request. The sentences hold nothing of what was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unknown {
    /// It brings nothing that says who it is, and that is not enough here.
    Nobody(Cow<'static, str>),
    /// What it brings cannot be understood.
    Malformed(Cow<'static, str>),
    /// What it brings is not good, or no longer.
    Invalid(Cow<'static, str>),
    /// What it brings was good and has run out. Holders of several come with such ones all the time, so it is not held
    /// against where it comes from.
    Expired(Cow<'static, str>),
    /// It is known who it is, but what it brings was given for too little.
    TooLittle {
        /// The scopes that are needed.
        needed: Vec<String>,
    },
    /// It cannot be found out at the moment.
    Unavailable(Cow<'static, str>),
    /// Too many have been wrong from where it comes.
    TooMany {
        /// When to try again.
        retry_after: Duration,
    },
}

impl Unknown {
    /// Not good.
    pub(super) fn invalid(why: impl Into<Cow<'static, str>>) -> Unknown {
        Unknown::Invalid(why.into())
    }

    /// Not to be found out.
    pub(super) fn unavailable(why: impl Into<Cow<'static, str>>) -> Unknown {
        Unknown::Unavailable(why.into())
    }
}
