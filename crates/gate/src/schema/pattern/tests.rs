//! Patterns: that they are read as ECMAScript reads them, and what they cost in steps.

use super::super::meter;
use super::*;

/// Steps that one match may take here.
const STEPS: u64 = 10_000_000;

fn compiled(pattern: &str) -> Arc<Linear> {
    Patterns::default().get(pattern).expect(pattern)
}

#[track_caller]
fn check(pattern: &str, matches: &[&str], does_not: &[&str]) {
    let compiled = compiled(pattern);
    let found =
        |text: &str| meter::within(STEPS, 1, || compiled.is_match(text)).expect("it has enough steps").0;
    for text in matches {
        assert!(found(text), "{pattern} matches {text:?}");
    }
    for text in does_not {
        assert!(!found(text), "{pattern} does not match {text:?}");
    }
}

#[test]
fn patterns_are_read_as_ecmascript_reads_them() {
    check("^a{,3}$", &["a{,3}"], &["", "aaa"]);
    check("^[\\w-.]+$", &["a-b.c", "_"], &["!!", ""]);
    check("^[.-\\w]+$", &["a-b."], &["/"]);
    check("^[a-c-e]+$", &["abc-e"], &["d"]);
    check("^[^\\d-]$", &["a"], &["1", "-"]);
    check("^x{$", &["x{"], &["x"]);
    check("^{}$", &["{}"], &[""]);
    check("^]$", &["]"], &[""]);
    check("[]", &[], &["", "a"]);
    check("^[^]$", &["\n"], &["", "ab"]);
    check("^[[a]]$", &["[]", "a]"], &["a"]);
    check("^[a&&b~~]+$", &["&ab~"], &["c"]);
    check("^\\d\\w\\s$", &["1a\u{feff}"], &["\u{661}a ", "1é "]);
    check("^\\/\\-\\_\\\"\\@$", &["/-_\"@"], &[""]);
    check("^\\cJ\\x41\\u0042\\u{43}\\uD83D\\uDE00\\0$", &["\nABC😀\0"], &["JABC"]);
    check("^.$", &["a", "é", "😀"], &["\n", "\u{2028}", "ab"]);
    check("\\bé", &["aé"], &["é"]);
    check("^\\p{Lu}\\P{Lu}$", &["Éa"], &["aa"]);
    check("^(?<a>x)$", &["x"], &["xx"]);
    check("^(a|ab)(b|$)", &["a", "abb"], &["c"]);
    check("^(?:ab|c){2,3}?$", &["abc", "ccc"], &["ab", "cccc"]);
    check("(?i)^abc$", &["ABC"], &["abd"]);
    check("(?i)\\babc\\b", &["x ABC,"], &["xabc"]);
    check("^(?P<name>a)\\z", &["a"], &["ab"]);
}

#[test]
fn what_is_no_pattern_is_not_taken_for_one() {
    for bad in ["(", ")", "[a", "*a", "a{2,1}", "[z-a]", "\\", "(?>a)", "\\u12", "a\\Z", "(?<=a"] {
        assert!(!Patterns::default().has(bad), "{bad}");
    }
    for not_linear in ["^(?!\\.)[a-z.]+$", "(?<=\\$)\\d+", "^(['\"])[^'\"]*\\1$", "(?<a>x)\\k<a>", "(?!)"] {
        assert!(Patterns::default().get(not_linear).is_err_and(|why| why.contains("linear")), "{not_linear}");
    }
    for large in ["^.{1,1000000}$", "(\\p{L}{1000}){1000}", "((a{1000}){1000}){1000}"] {
        assert!(!Patterns::default().has(large), "{large}");
    }
    assert!(!Patterns::default().has(&"(".repeat(10_000)), "nested too deep");
    let many: String = ('\u{4e00}'..'\u{9fff}').step_by(2).collect();
    check(&format!("^[{many}]$"), &["\u{4e00}"], &["\u{4e01}"]);
    let patterns = Patterns::default();
    let made = (0..100).filter(|nth| patterns.get(&format!("^\\p{{L}}{{1,100}}{nth}$")).is_ok()).count();
    assert!((2..5).contains(&made), "those of one schema are one sum: {made}");
}

/// The steps for so many texts, or nothing if they are more than a tenth of what a check may have.
fn steps(pattern: &str, texts: usize, text: &dyn Fn(usize) -> String) -> Option<u64> {
    let pattern = compiled(pattern);
    let all = || (0..texts).filter(|nth| pattern.is_match(&text(*nth))).count();
    meter::within(super::super::STEPS_MAX / 10, 1, all).map(|(_, steps)| steps)
}

#[test]
fn all_texts_are_one_sum() {
    let same = |text: &str| {
        let text = text.to_owned();
        Box::new(move |nth: usize| format!("{text}{nth}")) as Box<dyn Fn(usize) -> String>
    };
    let many = |length: usize| same(&"a".repeat(length));
    let random =
        |length: usize| Box::new(move |nth: usize| scrambled(nth, length)) as Box<dyn Fn(usize) -> String>;
    // By one text, a hundred and ten thousand: whether that is within bounds.
    for (pattern, text, expected) in [
        // Patterns that have been bombs.
        ("a[ab]{800}c", random(1500), [true, false, false]),
        ("[ab]*a[ab]{800}c", random(1500), [true, false, false]),
        ("a[ab]{20}c", random(300), [true, false, false]),
        ("^(a+)+$", many(1000), [true, true, false]),
        // Honest ones, some of them large.
        (
            "^[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\\.[a-zA-Z]{2,}$",
            same("somebody.else@example.org"),
            [true, true, true],
        ),
        ("^[\\s\\S]{1,5000}$", many(200), [true, true, true]),
        ("^.{1,5000}$", many(5000), [true, true, false]),
    ] {
        let found = [1, 100, 10_000].map(|texts| steps(pattern, texts, &*text));
        assert_eq!(found.map(|steps| steps.is_some()), expected, "{pattern} on {:.20}…: {found:?}", text(0));
    }
}

/// Letters `a` and `b` in no order.
fn scrambled(seed: usize, length: usize) -> String {
    let next = |state: &mut u64| {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        Some(if *state >> 40 & 1 == 0 { 'a' } else { 'b' })
    };
    std::iter::repeat(()).scan(seed as u64, |state, ()| next(state)).take(length).collect()
}
