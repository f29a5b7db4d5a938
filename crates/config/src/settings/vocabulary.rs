//! The protocol's words for the AI rules, which know none by themselves.

use wire::vocabulary::{self, Holds};

/// What no rule strikes out of the protocol's own objects.
pub(super) fn rules_vocabulary() -> rules::Vocabulary {
    let members = vocabulary::members().map(|member| {
        let holds = match member.holds {
            Holds::Words(words) => rules::Holds::Words(words),
            Holds::MediaType => rules::Holds::MediaType,
            Holds::Time => rules::Holds::Time,
            Holds::Identifier => rules::Holds::Identifier,
            Holds::Foreign => rules::Holds::Foreign,
            Holds::Structure | Holds::Bytes | Holds::Address | Holds::Text => rules::Holds::Other,
        };
        (member.name, holds)
    });
    members.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use wire::vocabulary::{self, MetaUse};

    #[test]
    fn the_gate_knows_the_keys_of_the_vocabulary_and_no_others() {
        let ours = vocabulary::meta_keys().filter(|(_, meta_use)| *meta_use != MetaUse::Protocol);
        let ours: BTreeMap<String, bool> =
            ours.map(|(key, meta_use)| (key.to_owned(), meta_use == MetaUse::PerCall)).collect();
        assert_eq!(gate::meta_keys().collect::<BTreeMap<_, _>>(), ours);
    }
}
