//! `Profile`: what a client can be asked for, as far as servers act on it. Which clients share a connection because of
//! it is for `pool` to say.

use wire::Object;

/// What a client can be asked for: which of [`ABILITIES`] it declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Profile(u8);

/// Capabilities that a server acts on, and what is in them. Elicitation without more means forms.
const ABILITIES: [(&str, &str); 6] = [
    ("roots", ""),
    ("sampling", ""),
    ("sampling", "tools"),
    ("sampling", "context"),
    ("elicitation", "form"),
    ("elicitation", "url"),
];

impl Profile {
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

    /// The `ClientCapabilities` object that says so.
    pub(crate) fn json(self) -> String {
        let mut parts: Vec<(&str, Vec<&str>)> = Vec::new();
        for (index, (capability, part)) in ABILITIES.into_iter().enumerate() {
            if self.0 & 1 << index == 0 {
                continue;
            }
            if parts.last().is_none_or(|(last, _)| *last != capability) {
                parts.push((capability, Vec::new()));
            }
            if let Some((_, inside)) = parts.last_mut().filter(|_| !part.is_empty()) {
                inside.push(part);
            }
        }
        let members = parts.iter().map(|(capability, inside)| {
            let inside: Vec<String> = inside.iter().map(|part| format!("\"{part}\":{{}}")).collect();
            format!("\"{capability}\":{{{}}}", inside.join(","))
        });
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_declared_is_said_again() {
        let all = r#"{"roots":{},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}}}"#;
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
