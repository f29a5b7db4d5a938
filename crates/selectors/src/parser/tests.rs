//! What is read of selectors, and what is refused, where and why.

use super::*;

/// A selector as it has been understood, in words.
fn shown(text: &str) -> String {
    let selector = match parse(text) {
        Ok(selector) => selector,
        Err(error) => return error.to_string(),
    };
    let condition = |Condition { attribute, test }: &Condition| {
        let (sign, value) = match test {
            Test::Exists => return format!("[{attribute}]"),
            Test::Equals(value) => ("=", value),
            Test::Begins(value) => ("^=", value),
            Test::Ends(value) => ("$=", value),
            Test::Contains(value) => ("*=", value),
            Test::HasWord(value) => ("~=", value),
        };
        format!("[{attribute}{sign}{value:?}]")
    };
    let step = |Step { within, compound: Compound { name, conditions } }: &Step| {
        let within = match within {
            Within::Page => "",
            Within::Ancestor => " ",
            Within::Parent => ">",
        };
        let conditions: String = conditions.iter().map(condition).collect();
        format!("{within}{}{conditions}", name.as_deref().unwrap_or("*"))
    };
    let alternative = |steps: &Vec<Step>| steps.iter().map(step).collect::<String>();
    selector.alternatives.iter().map(alternative).collect::<Vec<_>>().join(",")
}

#[test]
fn what_is_understood() {
    for (text, expected) in [
        ("a", "a"),
        ("*", "*"),
        ("  DIV  ", "DIV"),
        ("#x-1", r#"*[id="x-1"]"#),
        (".a._b.--c", r#"*[class~="a"][class~="_b"][class~="--c"]"#),
        ("*.größe", r#"*[class~="größe"]"#),
        ("a[href]", "a[href]"),
        ("[ href = x ]", r#"*[href="x"]"#),
        (r#"[a="b c]"][d='"']"#, r#"*[a="b c]"][d="\""]"#),
        ("[a^=b][a$=c][a*='']", r#"*[a^="b"][a$="c"][a*=""]"#),
        ("h2 > a.t  b", r#"h2>a[class~="t"] b"#),
        ("a>b", "a>b"),
        ("a , b>c,d e", "a,b>c,d e"),
        ("x-y", "x-y"),
    ] {
        assert_eq!(shown(text), expected, "{text}");
    }
}

#[test]
fn what_is_refused_and_where() {
    let missing = "a name is missing, which begins with a letter";
    let long = "x".repeat(SELECTOR_BYTES_MAX + 1);
    let deep = "a ".repeat(STEPS_MAX + 1);
    let wide = "a,".repeat(STEPS_MAX) + "a";
    for (text, at, why) in [
        ("", 1, "something is missing"),
        ("  ", 3, "something is missing"),
        ("a,", 3, "something is missing"),
        (",a", 1, "`,` is not known here"),
        ("a >", 4, "something is missing"),
        ("> a", 1, "`>` is not known here"),
        ("a >> b", 4, "`>` is not known here"),
        ("a + b", 3, "`+` is not known here"),
        ("a ~ b", 3, "`~` is not known here"),
        ("ä:hover", 2, "`:` is not known here"),
        ("a::before", 2, "`:` is not known here"),
        ("svg|a", 4, "`|` is not known here"),
        ("a\\b", 2, "`\\\\` is not known here"),
        ("a\tb", 2, "`\\t` is not known here"),
        ("a\n", 2, "`\\n` is not known here"),
        ("1a", 1, "`1` is not known here"),
        (".1", 2, missing),
        ("#", 2, missing),
        ("-1", 1, missing),
        (". a", 2, missing),
        ("[]", 2, missing),
        ("[a", 3, "something is missing"),
        ("[a=", 4, missing),
        ("[a=1]", 4, missing),
        ("[a=b", 5, "something is missing"),
        ("[a=b c]", 6, "`c` is not known here"),
        ("[a=b i]", 6, "`i` is not known here"),
        ("[a~=b]", 3, "`~` is not known here"),
        ("[a|=b]", 3, "`|` is not known here"),
        ("[a^b]", 4, "`b` is not known here"),
        ("[a='b]", 5, "this text has no end, or a \\ in it"),
        (r#"[a="b\"c"]"#, 5, "this text has no end, or a \\ in it"),
        ("[a='b\nc']", 6, "`\\n` is not known here"),
        ("a}", 2, "`}` is not known here"),
        (&long, 1, "a selector has at most 1000 bytes"),
        (&deep, 65, "a selector has at most 32 steps"),
        (&wide, 65, "a selector has at most 32 steps"),
    ] {
        let said = shown(text);
        assert!(said.starts_with(&format!("at character {at}: {why}")), "{text:.40}: {said}");
    }
}
