//! The protocol's words for redaction, which knows none by itself.

use wire::vocabulary::{self, Holds};

/// What stays in JSON of the protocol whatever secrets are called so, and what there holds files.
pub fn redaction_vocabulary() -> redact::Vocabulary {
    let members = vocabulary::members().map(|member| {
        let holds = match member.holds {
            Holds::Words(words) => redact::Holds::Words(words),
            Holds::MediaType => redact::Holds::MediaType,
            Holds::Bytes => redact::Holds::Bytes,
            Holds::Structure
            | Holds::Time
            | Holds::Identifier
            | Holds::Address
            | Holds::Text
            | Holds::Foreign => redact::Holds::Other,
        };
        (member.name, holds)
    });
    members.collect()
}
