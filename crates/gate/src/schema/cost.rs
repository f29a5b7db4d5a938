//! What a check may cost at most, found before it is made.
//!
//! A schema comes from somebody else, and so do the arguments; together they must not keep the gate busy. Two things
//! multiply: how often one value is looked at, because a schema applies many parts of itself to the same place, and how
//! many states a pattern is in while it reads a text. Both are counted as upper bounds: once for a schema if they do not
//! depend on the document, with each document if the schema leads back to itself.

mod patterns;
mod plan;
mod references;

use serde_json::Value;

use plan::Plan;

/// Most bytes of a schema's text. The largest of well-known servers have some 50 KiB.
pub(super) const SCHEMA_BYTES_MAX: usize = 1024 * 1024;

/// Most times that a schema may look at one value. Each takes some 10 ns, so one small value some 10 ms.
const LOOKS_MAX: u64 = 1_000_000;

/// Most looks at all values of one document together: some 100 ms.
const LOOKS_ALL_MAX: u64 = 10_000_000;

/// Most looks at a document if what is wrong with it is told one by one, for which it is looked at again at each level.
const LOOKS_TOLD_MAX: u64 = 200_000;

/// Most steps of one pattern over one text: states times bytes, at some 4 ns each.
const STEPS_MAX: u64 = 25_000_000;

/// Upper bounds of what a schema costs.
#[derive(Debug)]
pub(super) struct Cost {
    looks: Looks,
    /// States of its largest pattern.
    states: u64,
}

#[derive(Debug)]
enum Looks {
    /// At one value, whatever it is.
    AtOne(u64),
    /// It leads back to itself, so that depends on the document.
    Counted(Plan),
}

/// What a document would cost.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Price {
    /// So little that it can be told in detail what is wrong.
    Small,
    /// It can be checked.
    Bearable,
    /// Too much, and why.
    TooMuch(String),
}

impl Cost {
    /// Counts.
    ///
    /// # Errors
    /// It would cost too much whatever it is asked about, or cannot be counted.
    pub(super) fn of(schema: &Value) -> Result<Cost, String> {
        let plan = Plan::of(schema)?;
        let states = plan.states;
        match plan.looks() {
            Some(looks) if looks > LOOKS_MAX => {
                Err(format!("it looks at one value up to {looks} times; at most {LOOKS_MAX} are made"))
            }
            Some(looks) => Ok(Cost { looks: Looks::AtOne(looks), states }),
            None => Ok(Cost { looks: Looks::Counted(plan), states }),
        }
    }

    /// What a document of so many bytes would cost.
    pub(super) fn price(&self, value: &Value, bytes: usize) -> Price {
        // Most documents are so small that nothing need be counted.
        let bytes = bytes as u64;
        let looks = match &self.looks {
            Looks::AtOne(looks) if bytes.saturating_mul(*looks) <= LOOKS_TOLD_MAX => 0,
            Looks::AtOne(looks) => Measure::of(value).values.saturating_mul(*looks),
            Looks::Counted(plan) => plan.looks_at(value),
        };
        if looks > LOOKS_ALL_MAX {
            let why = "a value that the schema would look at too many times; send less at once, or less deep";
            return Price::TooMuch(why.to_owned());
        }
        if bytes.saturating_mul(self.states) > STEPS_MAX {
            let longest = Measure::of(value).longest;
            if longest.saturating_mul(self.states) > STEPS_MAX {
                let why = "too long for the schema's patterns; send shorter ones";
                return Price::TooMuch(format!("a text of {longest} bytes, {why}"));
            }
        }
        if looks <= LOOKS_TOLD_MAX { Price::Small } else { Price::Bearable }
    }
}

/// What a document has.
#[derive(Default)]
struct Measure {
    values: u64,
    /// The longest text or key, in bytes.
    longest: u64,
}

impl Measure {
    fn of(value: &Value) -> Measure {
        let mut measure = Measure::default();
        measure.add(value);
        measure
    }

    fn add(&mut self, value: &Value) {
        self.values += 1;
        match value {
            Value::String(text) => self.longest = self.longest.max(text.len() as u64),
            Value::Array(items) => items.iter().for_each(|item| self.add(item)),
            Value::Object(members) => {
                for (key, member) in members {
                    self.longest = self.longest.max(key.len() as u64);
                    self.add(member);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_that_cost_too_much_are_told_by_what() {
        let cost = Cost { looks: Looks::AtOne(10_000), states: 0 };
        let price = |length: usize| cost.price(&Value::Array(vec![json!(1); length]), 2 * length + 1);
        assert_eq!((price(9), price(900)), (Price::Small, Price::Bearable));
        assert!(matches!(price(1_000), Price::TooMuch(why) if why.starts_with("a value that the schema")));
        let cost = Cost { looks: Looks::AtOne(1), states: 1_000 };
        assert_eq!(cost.price(&json!("x".repeat(25_000)), 25_002), Price::Small);
        let expected =
            "a text of 25001 bytes, too long for the schema's patterns; send shorter ones".to_owned();
        assert_eq!(cost.price(&json!({ "x".repeat(25_001): 1 }), 25_006), Price::TooMuch(expected));
    }
}
