//! True positives of public corpora: every one is struck out, as text and inside JSON.
//!
//! `corpus/README.md` says where they are from. A line is a text and the secret in it, each in base64, so that
//! nobody's scanner takes this repository for a leak.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use redact::{Config, Redactor};

/// Each file with what is known to slip through of it.
const FILES: [(&str, &str, usize); 3] = [
    ("noseyparker", include_str!("corpus/noseyparker.txt"), 0),
    ("ripsecrets", include_str!("corpus/ripsecrets.txt"), 0),
    ("kingfisher", include_str!("corpus/kingfisher.txt"), 0),
];

fn decoded(field: &str) -> String {
    String::from_utf8(STANDARD.decode(field).expect("base64")).expect("text")
}

#[test]
fn every_secret_of_public_corpora_is_struck_out() {
    let redactor = Redactor::new(&Config::default());
    let mut checked = 0;
    for (file, lines, slips) in FILES {
        let mut missed = Vec::new();
        for line in lines.lines() {
            let (text, secret) = line.split_once(' ').expect("two fields");
            let (text, secret) = (decoded(text), decoded(secret));
            assert!(text.contains(&secret), "{text}");
            checked += 1;
            let struck = redactor.text(&text).into_owned();
            let json = serde_json::json!({ "content": [{ "type": "text", "text": &text }] }).to_string();
            let in_json = redactor
                .json(json.as_bytes())
                .map_or(json, |struck| String::from_utf8(struck.bytes.to_vec()).expect("text"));
            let inside: serde_json::Value = serde_json::from_str(&in_json).expect("JSON");
            let inside = inside["content"][0]["text"].as_str().expect("a text");
            if struck.contains(&secret) || inside.contains(&secret) {
                missed.push(text);
            }
            assert_eq!(redactor.text(&struck), struck, "a second time");
        }
        assert!(missed.len() <= slips, "{file}: {} slip through: {missed:#?}", missed.len());
    }
    assert!(checked >= 200, "{checked}");
}
