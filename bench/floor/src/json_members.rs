//! Finds one member of a JSON object without parsing the rest. Trusts its input: the benchmark is the only caller.

/// The raw JSON of the member `name` of the object in `json`, or `None` where there is no such member.
pub fn member<'a>(json: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut at = skip_space(json, 0);
    if json.get(at) != Some(&b'{') {
        return None;
    }
    at += 1;
    loop {
        at = skip_space(json, at);
        if json.get(at) != Some(&b'"') {
            return None;
        }
        let key_end = value_end(json, at)?;
        let key = &json[at + 1..key_end - 1];
        at = skip_space(json, key_end);
        let value_start = skip_space(json, at + 1);
        let value_stop = value_end(json, value_start)?;
        if key == name {
            return Some(&json[value_start..value_stop]);
        }
        at = skip_space(json, value_stop);
        if json.get(at) != Some(&b',') {
            return None;
        }
        at += 1;
    }
}

/// A message with another id in the place of `id`, which is a part of it.
pub fn with_id(message: &[u8], id: &[u8], other: &[u8]) -> Vec<u8> {
    let start = id.as_ptr() as usize - message.as_ptr() as usize;
    [&message[..start], other, &message[start + id.len()..]].concat()
}

fn skip_space(json: &[u8], mut at: usize) -> usize {
    while json.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

/// One past the last byte of the value that starts at `at`.
fn value_end(json: &[u8], at: usize) -> Option<usize> {
    match json.get(at)? {
        b'"' => string_end(json, at),
        b'{' | b'[' => container_end(json, at),
        _ => Some(
            at + json[at..].iter().position(|byte| b",}] \t\r\n".contains(byte)).unwrap_or(json.len() - at),
        ),
    }
}

fn string_end(json: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        match json.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

fn container_end(json: &[u8], at: usize) -> Option<usize> {
    let (mut at, mut depth) = (at, 0_usize);
    loop {
        match json.get(at)? {
            b'"' => {
                at = string_end(json, at)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::member;

    fn check(json: &str, name: &str, expected: Option<&str>) {
        let found = member(json.as_bytes(), name.as_bytes()).map(|raw| str::from_utf8(raw).expect("UTF-8"));
        assert_eq!(found, expected, "{name} in {json}");
    }

    #[test]
    fn finds_members() {
        check(r#"{"a":1,"b":{"c":"}"}}"#, "b", Some(r#"{"c":"}"}"#));
        check(r#"{ "a" : [1, "x\"]"] , "b":2}"#, "a", Some(r#"[1, "x\"]"]"#));
        check(r#"{"a":{"b":1},"b":2}"#, "b", Some("2"));
        check(r#"{"id":7}"#, "id", Some("7"));
    }

    #[test]
    fn finds_nothing_where_there_is_nothing() {
        check("{}", "a", None);
        check("[1]", "a", None);
        check(r#"{"a":1"#, "b", None);
    }
}
