//! `Item`: a definition as a person names it.

use pins::{Decision, Hash, Pins, What, visible};
use upstream::Settings;

use crate::fault::Fault;

/// Fewer digits do not say what was looked at.
const DIGITS_MIN: usize = 8;

/// The digits of a hash that are shown to people.
pub const DIGITS_SHOWN: usize = 12;

/// A definition as a person names it.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) what: What,
    pub(super) key: String,
    /// The first digits of the hash of what was looked at.
    looked_at: Option<String>,
}

impl Item {
    /// The definition of this name: `NAME` or `KIND:NAME`, perhaps with `@DIGITS` behind it.
    pub(super) fn find(pins: &Pins, server: &str, written: &str) -> Result<Item, Fault> {
        if let Some(item) = Item::named(pins, written)? {
            return Ok(item);
        }
        let looked_at = written.rsplit_once('@').filter(|(_, digits)| is_digits(digits));
        if let Some((name, digits)) = looked_at
            && let Some(item) = Item::named(pins, name)?
        {
            return Ok(Item { looked_at: Some(digits.to_owned()), ..item });
        }
        let message = format!(
            "`{server}` has shown no `{written}`; `toolcrib mcp trust {server}` names what is held back"
        );
        Err(unknown_item(message))
    }

    fn named(pins: &Pins, name: &str) -> Result<Option<Item>, Fault> {
        let of_kind = name.split_once(':').and_then(|(kind, key)| Some((kind.parse::<What>().ok()?, key)));
        // Nobody can type what is hidden, so it may be written as it is shown.
        let matches = |key: &str, name: &str| key == name || visible(key) == name;
        let is_meant = |what: What, key: &str| {
            matches(key, name) || of_kind.is_some_and(|(kind, name)| kind == what && matches(key, name))
        };
        let all = pins.all().filter(|(what, key, _)| is_meant(*what, key));
        let mut found: Vec<Item> = all.map(|(what, key, _)| Item::of(what, key)).collect();
        if found.len() > 1 {
            let kinds: Vec<String> = found.iter().map(|item| format!("{}:{}", item.what, item.key)).collect();
            return Err(Fault::misused(format!("`{name}` could be {}; say which", kinds.join(" or "))));
        }
        Ok(found.pop())
    }

    pub(super) fn of(what: What, key: &str) -> Item {
        Item { what, key: key.to_owned(), looked_at: None }
    }

    pub(super) fn is_same(&self, other: &Item) -> bool {
        (self.what, &self.key) == (other.what, &other.key)
    }

    /// The hash of what the decision is about.
    pub(super) fn to_decide(
        &self,
        pins: &Pins,
        settings: &Settings,
        decision: Decision,
    ) -> Result<Hash, Fault> {
        let Item { what, key, looked_at } = self;
        let definition = pins.get(*what, key).and_then(|pinned| {
            let accepted = pinned.accepted.as_ref().filter(|_| decision == Decision::Reject);
            pinned.shown.as_ref().or(accepted)
        });
        let Some(definition) = definition else {
            return Err(Fault::failed(format!("{what} `{key}` of `{}` is not held back", settings.name())));
        };
        if looked_at.as_ref().is_some_and(|digits| !definition.hash.as_str().starts_with(digits.as_str())) {
            let message = format!(
                "{what} `{key}` is another one by now; look at it with `toolcrib mcp trust {} --show {what}:{key}`",
                settings.name()
            );
            return Err(Fault::failed(message));
        }
        Ok(definition.hash.clone())
    }
}

/// There is nothing of that name, or nothing at all, as this sentence says.
pub(super) fn unknown_item(message: String) -> Fault {
    Fault::unknown("unknown_item", message)
}

fn is_digits(text: &str) -> bool {
    text.len() >= DIGITS_MIN
        && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}
