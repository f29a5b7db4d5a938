//! What holds for every text: nothing known is left in any encoding, JSON stays JSON, a second time changes nothing,
//! and a text without secrets stays as it is.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE};
use proptest::prelude::*;
use redact::{Config, Known, Redactor};
use serde_json::Value;

const SECRETS: [(&str, &str); 5] = [
    ("PLAIN", "Qm7-vT2k"),
    ("QUOTED", "p\"a\\s\ns/w0rd"),
    ("WIDE", "пароль-тест"),
    ("LONG", "Zx81+long/secret=with?signs&more"),
    ("OVERLAPPING", "vT2kZx81+long"),
];

static KNOWN: LazyLock<Redactor> = LazyLock::new(|| knowing(false));
static BOTH: LazyLock<Redactor> = LazyLock::new(|| knowing(true));

fn redactor(patterns: bool) -> &'static Redactor {
    if patterns { &BOTH } else { &KNOWN }
}

fn knowing(patterns: bool) -> Redactor {
    let redactor = Redactor::new(&Config { patterns, ..Config::default() });
    let known = SECRETS.iter().map(|(name, value)| Known { name: (*name).into(), value: (*value).into() });
    redactor.know("test", known.collect());
    redactor
}

/// A secret as some program may write it, with something before it that shifts its base64.
fn spelt() -> impl Strategy<Value = String> {
    let json = |text: &str| {
        let quoted = serde_json::to_string(text).expect("a text is JSON");
        quoted[1..quoted.len() - 1].to_owned()
    };
    (0..SECRETS.len(), 0..10_u8, 0..4_usize, "[ -~]{0,5}").prop_map(move |(nth, form, before, behind)| {
        let value = SECRETS[nth].1;
        let shifted = format!("{}{value}{behind}", &"ab:c"[..before]);
        let hex = |upper| {
            value
                .bytes()
                .map(|byte| if upper { format!("{byte:02X}") } else { format!("{byte:02x}") })
                .collect()
        };
        match form {
            0 => value.to_owned(),
            1 => json(value),
            2 => json(&json(value)),
            3 => STANDARD.encode(shifted),
            4 => URL_SAFE.encode(shifted),
            5 => STANDARD_NO_PAD.encode(shifted),
            6 => hex(false),
            7 => hex(true),
            8 => value.bytes().map(|byte| format!("%{byte:02X}")).collect(),
            _ => json(value).replace('/', "\\/"),
        }
    })
}

fn text() -> impl Strategy<Value = String> {
    let part =
        prop_oneof![3 => "\\PC{0,12}", 2 => spelt(), 1 => "[\\x00-\\x7f]{0,8}", 1 => "[a-z_]{3,9}[=:] ?"];
    prop::collection::vec(part, 0..6).prop_map(|parts| parts.join(" "))
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// What is looked for in a text that must not hold a secret.
fn holds_one(text: &str) -> Option<&'static str> {
    SECRETS.iter().map(|(_, value)| *value).find(|value| text.contains(value))
}

/// All texts in a value, keys too.
fn texts(value: &Value, all: &mut Vec<String>) {
    match value {
        Value::String(text) => all.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, all)),
        Value::Object(members) => members.iter().for_each(|(key, member)| {
            all.push(key.clone());
            texts(member, all);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// `json` with some of the characters in its strings written as escapes.
fn escaped(json: &str, every: usize) -> String {
    let (mut out, mut is_inside, mut characters) = (String::new(), false, json.chars().enumerate());
    while let Some((nth, character)) = characters.next() {
        match character {
            '\\' => {
                let (_, escape) = characters.next().expect("an escape goes on");
                out.extend(['\\', escape]);
                let digits = if escape == 'u' { 4 } else { 0 };
                out.extend(characters.by_ref().take(digits).map(|(_, digit)| digit));
                continue;
            }
            '"' => is_inside = !is_inside,
            _ if is_inside && character.is_ascii_alphanumeric() && nth % every == 0 => {
                out.push_str(&format!("\\u{:04x}", u32::from(character)));
                continue;
            }
            _ => {}
        }
        out.push(character);
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_known_is_left_in_a_text(text in text(), patterns: bool) {
        let redactor = redactor(patterns);
        let struck = redactor.text(&text).into_owned();
        prop_assert_eq!(holds_one(&struck), None, "{}", struck);
        prop_assert_eq!(redactor.text(&struck), struck.as_str());
    }

    #[test]
    fn every_spelling_is_found(spelt in spelt()) {
        prop_assert!(redactor(false).strike(&spelt).is_some(), "{}", spelt);
    }

    #[test]
    fn nothing_known_is_left_in_json(value in json(), patterns: bool, every in 2..9_usize) {
        let redactor = redactor(patterns);
        for json in [value.to_string(), escaped(&value.to_string(), every)] {
            let struck = redactor.json(json.as_bytes());
            let left = struck.as_ref().map_or(json.as_bytes(), |struck| &struck.bytes);
            let left_value: Value = serde_json::from_slice(left).expect("JSON again");
            let mut all = Vec::new();
            texts(&left_value, &mut all);
            for text in &all {
                prop_assert_eq!(holds_one(text), None, "{}", text);
            }
            prop_assert!(redactor.json(left).is_none(), "{}", String::from_utf8_lossy(left));
        }
    }

    #[test]
    fn json_without_secrets_stays(value in json()) {
        let redactor = Redactor::new(&Config { patterns: false, ..Config::default() });
        redactor.know("test", vec![Known { name: "A".into(), value: "\u{1F511}none has it".into() }]);
        prop_assert!(redactor.json(value.to_string().as_bytes()).is_none());
    }

    #[test]
    fn no_bytes_do_harm(bytes in prop::collection::vec(any::<u8>(), 0..200), planted in spelt()) {
        let redactor = redactor(true);
        let bytes = [&bytes[..], planted.as_bytes(), &bytes[..]].concat();
        let _ = redactor.json(&bytes);
        let _ = redactor.bytes(&bytes);
        let _ = redactor.text(&String::from_utf8_lossy(&bytes));
    }
}
