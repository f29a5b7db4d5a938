//! JSON as the validator looks at it, with every value counted that it comes by. When the steps are used up, a value has
//! nothing in it any more, so that the validator comes to its end; what it then says is not used.

use std::borrow::Cow;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object, SerdeJson, cmp};
use serde_json::{Map, Number, Value};

use super::{meter, unique};

/// Characters of a text that are counted in one step.
const CHARS_A_STEP: usize = 64;

/// Steps for the hash of a value without what is in it.
const HASH_STEPS: u64 = 32;

/// The kind of JSON whose values are `serde_json`'s, looked at through the meter.
pub(super) struct Counted;

impl Json for Counted {
    type Node<'a> = &'a Value;
    type PreparedKey = String;
    type StringBuffer = Value;

    // A look-up goes down a tree, as in the validator's own reading of these values.
    const KEYS_PER_LOOKUP: usize = 2;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(buffer: &mut Value, string: &str, check: impl FnOnce(&Value) -> T) -> T {
        meter::take(pieces(string));
        *buffer = Value::String(string.to_owned());
        check(buffer)
    }
}

impl<'a> Node<'a, Counted> for &'a Value {
    type Object = Members<'a>;
    type Array = Items<'a>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<Members<'a>> {
        Value::as_object(self).map(Members)
    }

    fn as_array(&self) -> Option<Items<'a>> {
        Value::as_array(self).map(|items| Items(items))
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        self.as_str().map(Cow::Borrowed)
    }

    fn as_number(&self) -> Option<&'a Number> {
        Value::as_number(self)
    }

    fn as_boolean(&self) -> Option<bool> {
        self.as_bool()
    }

    fn is_null(&self) -> bool {
        Value::is_null(self)
    }

    fn json_type(&self) -> JsonType {
        Node::<SerdeJson>::json_type(self)
    }

    fn string_length(&self) -> Option<u64> {
        let text = self.as_str()?;
        meter::take(pieces(text)).then(|| text.chars().count() as u64)
    }

    fn equals_value(&self, expected: &Value) -> bool {
        meter::take(least_size(self, expected)) && cmp::equal(self, expected)
    }

    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Borrowed(self)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(NodeIdentity::new(std::ptr::from_ref::<Value>(self).addr()))
    }
}

/// The members of an object.
pub(super) struct Members<'a>(&'a Map<String, Value>);

/// Members one by one.
pub(super) struct EachMember<'a>(serde_json::map::Iter<'a>);

impl<'a> Object<'a, Counted> for Members<'a> {
    type Node = &'a Value;
    type MemberName = &'a str;
    type MembersIter = EachMember<'a>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, key: &String) -> Option<&'a Value> {
        // A name that is looked for in vain leads nowhere.
        let member = self.0.get(key.as_str()).filter(|_| meter::value(0));
        if meter::take(1) { member } else { None }
    }

    fn members(&self) -> EachMember<'a> {
        EachMember(self.0.iter())
    }
}

impl<'a> Iterator for EachMember<'a> {
    type Item = (&'a str, &'a Value);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, member) = self.0.next()?;
        meter::value(pieces(name)).then_some((name.as_str(), member))
    }
}

/// The items of an array.
pub(super) struct Items<'a>(&'a [Value]);

/// Items one by one.
pub(super) struct EachItem<'a>(std::slice::Iter<'a, Value>);

impl<'a> Array<'a, Counted> for Items<'a> {
    type Node = &'a Value;
    type ElementsIter = EachItem<'a>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn elements(&self) -> EachItem<'a> {
        EachItem(self.0.iter())
    }

    fn is_unique(&self) -> bool {
        // Each item is copied and hashed to its depths.
        let steps = HASH_STEPS.saturating_mul(self.0.iter().map(size).sum());
        meter::take(steps) && unique::all_differ(self.0)
    }
}

impl<'a> Iterator for EachItem<'a> {
    type Item = &'a Value;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.0.next()?;
        meter::value(0).then_some(item)
    }
}

/// Steps of a comparison: what differs in kind or length is told apart at once.
fn least_size(one: &Value, other: &Value) -> u64 {
    match (one, other) {
        (Value::String(one), Value::String(other)) if one.len() != other.len() => 1,
        (Value::String(_), Value::String(_))
        | (Value::Array(_), Value::Array(_))
        | (Value::Object(_), Value::Object(_)) => size(other),
        _ => 1,
    }
}

/// Values and pieces of text within a value, itself among them.
fn size(value: &Value) -> u64 {
    1 + match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => pieces(text),
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(members) => members.iter().map(|(name, member)| 1 + pieces(name) + size(member)).sum(),
    }
}

fn pieces(text: &str) -> u64 {
    (text.len() / CHARS_A_STEP) as u64
}
