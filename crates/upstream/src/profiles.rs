//! `Profile`: what a client can be asked for, as far as servers act on it. Which clients share a connection because of
//! it is for `pool` to say.

use serde_json::{Map, Value, json};
use wire::Object;

/// What a client can be asked for: which of [`ABILITIES`] it declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Profile(u8);

/// Capabilities that a server acts on, and what is in them. Elicitation without more means forms.
const ABILITIES: [(&str, &str); 6] = [
    ("elicitation", "form"),
    ("elicitation", "url"),
    ("roots", ""),
    ("sampling", ""),
    ("sampling", "context"),
    ("sampling", "tools"),
];

impl Profile {
    pub(crate) const FORM: Profile = Profile(1);
    pub(crate) const URL: Profile = Profile(1 << 1);
    pub(crate) const ROOTS: Profile = Profile(1 << 2);
    pub(crate) const SAMPLING: Profile = Profile(1 << 3);
    pub(crate) const TOOLS: Profile = Profile(1 << 5);

    /// Nothing that can be asked for.
    pub(crate) const NOTHING: Profile = Profile(0);
    /// Everything that can be asked for.
    pub(crate) const ALL: Profile = Profile((1 << ABILITIES.len()) - 1);

    /// What a client with these `ClientCapabilities` can be asked for.
    pub(crate) fn of(capabilities: &[u8]) -> Profile {
        let text = std::str::from_utf8(capabilities).unwrap_or_default();
        let Some(declared) = Object::parse(text) else { return Profile(0) };
        let has = |(capability, part): &(&str, &str)| {
            let Some(declared) = declared.object(capability) else { return false };
            let says_nothing = declared.get("form").is_none() && declared.get("url").is_none();
            part.is_empty() || declared.get(part).is_some() || (*part == "form" && says_nothing)
        };
        let bits = ABILITIES.iter().enumerate().filter(|(_, ability)| has(ability));
        Profile(bits.fold(0, |bits, (index, _)| bits | 1 << index))
    }

    /// What a client with these `ClientCapabilities` lacks of it: such an object.
    pub(crate) fn lacking_in(self, capabilities: &[u8]) -> Option<String> {
        (Profile::of(capabilities).0 & self.0 != self.0).then(|| self.json())
    }

    /// The `ClientCapabilities` object that says so.
    pub(crate) fn json(self) -> String {
        let mut declared = Map::new();
        for (index, (capability, part)) in ABILITIES.into_iter().enumerate() {
            if self.0 & 1 << index != 0 {
                let parts = declared.entry(capability).or_insert_with(|| json!({}));
                if !part.is_empty() {
                    parts[part] = json!({});
                }
            }
        }
        Value::Object(declared).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_declared_is_said_again() {
        let all = r#"{"elicitation":{"form":{},"url":{}},"roots":{},"sampling":{"context":{},"tools":{}}}"#;
        assert_eq!(Profile::ALL.json(), all);
        for (declared, said) in [
            ("{}", "{}"),
            ("", "{}"),
            ("[]", "{}"),
            (r#"{"elicitation":{}}"#, r#"{"elicitation":{"form":{}}}"#),
            (r#"{"elicitation":{"url":{}}}"#, r#"{"elicitation":{"url":{}}}"#),
            (
                r#"{"x":1,"sampling":{"tools":{}},"roots":{"listChanged":true}}"#,
                r#"{"roots":{},"sampling":{"tools":{}}}"#,
            ),
            (r#"{"sampling":null,"elicitation":5}"#, "{}"),
            (all, all),
        ] {
            let profile = Profile::of(declared.as_bytes());
            assert_eq!(profile.json(), said, "{declared}");
            assert_eq!(Profile::of(said.as_bytes()), profile, "{declared}");
        }
    }
}
