//! Patterns: that they are read as ECMAScript reads them, and which of them are run.

use super::super::meter;
use super::*;

/// Steps that one match may take here.
const STEPS: u64 = 10_000_000;

#[track_caller]
fn check(pattern: &str, matches: &[&str], does_not: &[&str]) {
    let patterns = Patterns::default();
    let compiled = Matches { text: pattern.into(), pattern: patterns.compile(pattern) };
    assert_eq!(patterns.left_out(), Vec::<String>::new());
    let found = |text: &str| {
        let (compiled, text) = (&compiled, Value::from(text));
        let look = || compiled.look(&text);
        meter::within(STEPS, 1, look).expect("it has enough steps").0
    };
    for text in matches {
        assert!(found(text), "{pattern} matches {text:?}");
    }
    for text in does_not {
        assert!(!found(text), "{pattern} does not match {text:?}");
    }
}

#[test]
fn patterns_are_read_as_ecmascript_reads_them() {
    check("^[\\w.-]+$", &["a-b.c", "_"], &["!!", ""]);
    check("^[^\\d-]$", &["a"], &["1", "-"]);
    check("^[[a]]$", &["[]", "a]"], &["a"]);
    check("^[a&&b~~]+$", &["&ab~"], &["c"]);
    check("^\\d\\w\\s$", &["1a\u{feff}"], &["\u{661}a ", "1é "]);
    check("^\\cJ\\x41\\u0042\\u{43}$", &["\nABC"], &["JABC"]);
    check("^.$", &["a", "é", "😀"], &["\n", "ab"]);
    check("\\ba", &["é a", "a"], &["ba"]);
    check("^\\p{Lu}\\P{Lu}$", &["Éa"], &["aa"]);
    check("^(?<a>x)$", &["x"], &["xx"]);
    check("^(a|ab)(b|$)", &["a", "abb"], &["c"]);
    check("^(?:ab|c){2,3}?$", &["abc", "ccc"], &["ab", "cccc"]);
    check("(?i)^abc$", &["ABC"], &["abd"]);
    check("^(?P<name>a)\\z", &["a"], &["ab"]);
    check("^.{1,1000}$", &["é"], &[""]);
    check("^(a+)+$", &["aaa"], &["aab"]);
}

#[test]
fn what_cannot_be_run_is_noted_and_not_checked() {
    for bad in
        ["^[\\w-.]+$", "^x{$", "(", ")", "[a", "*a", "a{2,1}", "[z-a]", "\\", "(?>a)", "\\u12", "(?<=a"]
    {
        assert!(Patterns::default().compile(bad).is_none(), "{bad}");
    }
    for not_linear in ["^(?!\\.)[a-z.]+$", "(?<=\\$)\\d+", "^(['\"])[^'\"]*\\1$", "(?<a>x)\\k<a>", "(?!)"] {
        assert!(Patterns::default().compile(not_linear).is_none(), "{not_linear}");
    }
    for large in ["^.{1,1000000}$", "(\\p{L}{1000}){1000}", "((a{1000}){1000}){1000}", "a[ab]{20}c"] {
        assert!(Patterns::default().compile(large).is_none(), "{large}");
    }
    assert!(Patterns::default().compile(&"(".repeat(10_000)).is_none(), "nested too deep");
    let patterns = Patterns::default();
    let made = (0..100).filter(|nth| patterns.compile(&format!("^.{{1,1000}}{nth}$")).is_some()).count();
    let size = Patterns::default().compile("^.{1,1000}$").map(|pattern| pattern.memory_usage());
    assert!(size.is_some_and(|bytes| bytes < 1_500_000), "{size:?}");
    assert!((2..8).contains(&made), "those of one schema are one sum: {made}");
    assert_eq!(patterns.left_out().len(), 100 - made);
}
