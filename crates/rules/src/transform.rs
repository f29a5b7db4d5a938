//! Changing arguments as a rule says: members set, removed, or replaced, each named by a JSON pointer (RFC 6901).

use serde_json::{Map, Value};

/// Most edits of one rule.
pub(crate) const EDITS_MAX: usize = 100;

/// Deepest member that is edited.
pub(crate) const POINTER_STEPS_MAX: usize = 16;

/// One change.
#[derive(Debug, Clone, PartialEq)]
pub struct Edit {
    pub(crate) pointer: Pointer,
    pub(crate) change: Change,
}

/// What is changed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Change {
    /// The member gets this value, whether it was there or not; objects on the way to it are made.
    Set(Value),
    /// The member gets this value if it was there.
    Replace(Value),
    /// The member goes.
    Remove,
}

/// A place in arguments.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pointer(Vec<String>);

impl Pointer {
    /// Reads a JSON pointer to a member.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Pointer, String> {
        let Some(steps) = text.strip_prefix('/') else {
            return Err(format!(
                "{text:?} is no JSON pointer to a member; it must begin with `/`, as in \"/dry_run\""
            ));
        };
        let step = |step: &str| {
            let plain = step.replace("~1", "/").replace("~0", "~");
            let bad = step.replace("~0", "").replace("~1", "").contains('~');
            if bad { Err(format!("in {text:?} a `~` is followed by neither 0 nor 1")) } else { Ok(plain) }
        };
        let steps: Vec<String> = steps.split('/').map(step).collect::<Result<_, _>>()?;
        match steps.len() <= POINTER_STEPS_MAX {
            true => Ok(Pointer(steps)),
            false => Err(format!("{text:?} has more than {POINTER_STEPS_MAX} steps")),
        }
    }
}

impl std::fmt::Display for Pointer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|step| write!(f, "/{}", step.replace('~', "~0").replace('/', "~1")))
    }
}

impl Edit {
    /// Makes the change. True if anything is different now.
    ///
    /// # Errors
    /// Something on the way is no object or list, so the rule cannot do what it says.
    pub(crate) fn apply(&self, arguments: &mut Value) -> Result<bool, String> {
        let (last, way) = self.pointer.0.split_last().expect("a pointer has a step");
        let mut at = arguments;
        for step in way {
            let next = match (at, &self.change) {
                (Value::Object(members), Change::Set(_)) => {
                    Some(members.entry(step.as_str()).or_insert_with(|| Value::Object(Map::new())))
                }
                (at, _) => member(at, step),
            };
            match next {
                Some(next) => at = next,
                None => return self.missing(),
            }
        }
        match (at, &self.change) {
            (Value::Object(members), Change::Set(value)) => {
                Ok(members.insert(last.clone(), value.clone()).as_ref() != Some(value))
            }
            (Value::Object(members), Change::Remove) => Ok(members.remove(last).is_some()),
            (Value::Array(items), Change::Remove) => {
                let found = nth(last).filter(|nth| *nth < items.len());
                Ok(found.map(|nth| items.remove(nth)).is_some())
            }
            (_, Change::Remove) => Ok(false),
            (at, Change::Set(value) | Change::Replace(value)) => match member(at, last) {
                Some(found) => Ok(std::mem::replace(found, value.clone()) != *value),
                None => self.missing(),
            },
        }
    }

    /// What comes of it where there is no such member.
    fn missing(&self) -> Result<bool, String> {
        match self.change {
            Change::Replace(_) | Change::Remove => Ok(false),
            Change::Set(_) => {
                Err(format!("{} cannot be set: what lies on the way to it is no object", self.pointer))
            }
        }
    }
}

fn member<'v>(value: &'v mut Value, step: &str) -> Option<&'v mut Value> {
    match value {
        Value::Object(members) => members.get_mut(step),
        Value::Array(items) => nth(step).and_then(|nth| items.get_mut(nth)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// A step as the index of a list.
fn nth(step: &str) -> Option<usize> {
    let is_plain = step == "0" || !step.starts_with(['0', '+']);
    step.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(pointer: &str, change: Change, before: Value, after: Result<Value, &str>) {
        let edit = Edit { pointer: Pointer::parse(pointer).expect("a pointer"), change };
        let mut got = before.clone();
        match (edit.apply(&mut got), after) {
            (Ok(changed), Ok(after)) => {
                assert_eq!(got, after, "{pointer}");
                assert_eq!(changed, before != after, "{pointer}");
            }
            (Err(why), Err(expected)) => assert_eq!(why, expected),
            (got, _) => panic!("{pointer}: {got:?}"),
        }
    }

    #[test]
    fn members_are_set_replaced_and_removed() {
        let (set, replace) = (|value| Change::Set(value), |value| Change::Replace(value));
        check("/dry_run", set(json!(true)), json!({}), Ok(json!({"dry_run": true})));
        check("/a/b/c", set(json!(1)), json!({}), Ok(json!({"a": {"b": {"c": 1}}})));
        check(
            "/a/b",
            set(json!(1)),
            json!({"a": 5}),
            Err("/a/b cannot be set: what lies on the way to it is no object"),
        );
        check(
            "/a/b/c",
            set(json!(1)),
            json!({"a": 5}),
            Err("/a/b/c cannot be set: what lies on the way to it is no object"),
        );
        check("/a/1", set(json!("x")), json!({"a": [1, 2]}), Ok(json!({"a": [1, "x"]})));
        check(
            "/a/2",
            set(json!("x")),
            json!({"a": [1, 2]}),
            Err("/a/2 cannot be set: what lies on the way to it is no object"),
        );
        check("/a", replace(json!(2)), json!({"a": 1}), Ok(json!({"a": 2})));
        check("/a", replace(json!(2)), json!({"b": 1}), Ok(json!({"b": 1})));
        check("/a/0/b", replace(json!(2)), json!({"a": [{"b": 1}]}), Ok(json!({"a": [{"b": 2}]})));
        check("/a", Change::Remove, json!({"a": 1, "b": 2}), Ok(json!({"b": 2})));
        check("/a/0", Change::Remove, json!({"a": [1, 2]}), Ok(json!({"a": [2]})));
        check("/a/00", Change::Remove, json!({"a": [1, 2]}), Ok(json!({"a": [1, 2]})));
        check("/a/b", Change::Remove, json!({"a": 1}), Ok(json!({"a": 1})));
        check("/x~1y~0z", Change::Remove, json!({"x/y~z": 1}), Ok(json!({})));
    }

    #[test]
    fn a_pointer_names_a_member() {
        for bad in ["", "a", "/~2", "/a~", &"/a".repeat(POINTER_STEPS_MAX + 1)] {
            assert!(Pointer::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(Pointer::parse("/a~1b/~0").expect("a pointer").to_string(), "/a~1b/~0");
    }
}
