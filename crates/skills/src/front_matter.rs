//! The head of a `SKILL.md`: YAML between two lines of three hyphens (agentskills.io, specification).

use serde_json::{Map, Value};

/// Longest name, in characters.
const NAME_CHARS_MAX: usize = 64;

/// Longest description, in characters.
const DESCRIPTION_CHARS_MAX: usize = 1024;

/// What a name is.
pub(crate) const NAME_RULE: &str = "1 to 64 lower-case letters, digits and single hyphens between them";

/// Fields that say yes or no.
const SWITCHES: [&str; 2] = ["disable-model-invocation", "user-invocable"];

/// The line before the head and behind it.
const FENCE: &str = "---";

/// What the head of a skill says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FrontMatter {
    /// What it is called for by.
    pub(crate) name: String,
    /// What it is for, in one line without characters that nobody sees.
    pub(crate) description: String,
    /// All that its author wrote.
    pub(crate) fields: Map<String, Value>,
}

impl FrontMatter {
    /// Whether a model may load it by itself.
    pub(crate) fn is_for_models(&self) -> bool {
        self.says("disable-model-invocation") != Some(true)
    }

    /// Whether a person is offered it as a prompt.
    pub(crate) fn is_for_people(&self) -> bool {
        self.says("user-invocable") != Some(false)
    }

    /// Whether this field says so; nothing if it is not there, or says something else.
    fn says(&self, field: &str) -> Option<bool> {
        self.fields.get(field)?.as_bool()
    }
}

/// The head of a skill's text, and what follows it.
///
/// # Errors
/// What is wrong with it, for whoever wrote it.
pub(crate) fn front_matter(text: &str) -> Result<(FrontMatter, &str), String> {
    let missing = || {
        format!(
            "it must begin with a line `{FENCE}`, the skill's name and description in YAML, and `{FENCE}`"
        )
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| line.trim_end() == FENCE).ok_or_else(missing)?;
    let head: usize = lines.clone().take_while(|line| line.trim_end() != FENCE).map(str::len).sum();
    let end = first.len() + head;
    let fence = text[end..].split_inclusive('\n').next().ok_or_else(missing)?;
    let fields = fields(&text[first.len()..end])?;
    let word = |field: &str| match fields.get(field) {
        Some(Value::String(value)) => Ok(value.trim().to_owned()),
        Some(_) => Err(format!("{field}: must be a text")),
        None => Err(format!("{field}: is missing")),
    };
    let (name, description) = (word("name")?, word("description")?);
    if !is_name(&name) {
        return Err(format!("name: must have {NAME_RULE}"));
    }
    if let Some(field) =
        SWITCHES.iter().find(|field| fields.get(**field).is_some_and(|value| !value.is_boolean()))
    {
        return Err(format!("{field}: must be true or false"));
    }
    let seen: String = description.chars().filter(|c| c.is_whitespace() || !sandbox::is_hidden(*c)).collect();
    let description = seen.split_whitespace().collect::<Vec<_>>().join(" ");
    if !(1..=DESCRIPTION_CHARS_MAX).contains(&description.chars().count()) {
        return Err(format!("description: must have 1 to {DESCRIPTION_CHARS_MAX} characters"));
    }
    Ok((FrontMatter { name, description, fields }, &text[end + fence.len()..]))
}

/// Whether a skill can have this name.
pub(crate) fn is_name(name: &str) -> bool {
    let is_legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=NAME_CHARS_MAX).contains(&name.len())
        && name.chars().all(is_legal)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

/// The fields of a head. Many say `description: Use when: …`, which is no YAML: then values are taken as they stand.
fn fields(yaml: &str) -> Result<Map<String, Value>, String> {
    let read = rules::yaml_as_json(yaml).or_else(|why| {
        let quoted: String = yaml.split_inclusive('\n').map(quoted).collect();
        rules::yaml_as_json(&quoted).map_err(|_| why)
    });
    match read? {
        Value::Object(fields) => Ok(fields),
        _ => Err("its head must be fields with values, such as `name: my-skill`".to_owned()),
    }
}

/// A line `field: value` with its value in quotes, if the value is what makes it none.
fn quoted(line: &str) -> String {
    let plain = |value: &str| {
        value.contains(": ") && !value.starts_with(['"', '\'', '[', '{', '|', '>', '&', '*', '#', '!'])
    };
    match line.split_once(": ") {
        Some((field, value)) if ["name", "description"].contains(&field) && plain(value.trim()) => {
            format!("{field}: {}\n", Value::from(value.trim()))
        }
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<(&str, &str, &str), &str>) {
        let read = front_matter(text);
        let read = read.map(|(head, body)| (head.name, head.description, body.to_owned()));
        let expected =
            expected.map(|(name, description, body)| (name.into(), description.into(), body.into()));
        match (read, expected) {
            (Err(why), Err(start)) => assert!(why.starts_with(start), "{text:?}: {why}"),
            (read, expected) => assert_eq!(read, expected.map_err(str::to_owned), "{text:?}"),
        }
    }

    #[test]
    fn the_head_is_read() {
        check(
            "---\nname: a-1\ndescription: What it does\n---\nBody\n",
            Ok(("a-1", "What it does", "Body\n")),
        );
        check("\u{feff}---\r\nname: a\r\ndescription: b\r\n---\r\nBody", Ok(("a", "b", "Body")));
        check("---\nname: a\ndescription: b\n---", Ok(("a", "b", "")));
        check("---\nname: a\ndescription: >\n  two\n  lines\n---\n---\n", Ok(("a", "two lines", "---\n")));
        check("---\nname: a\ndescription: \"b\"\nmetadata:\n  version: \"1\"\n---\n", Ok(("a", "b", "")));
        check(
            "---\nname: a\ndescription: |\n  b\n    files: 1\x1b[2J\n---\n",
            Ok(("a", "b files: 1[2J", "")),
        );
        check("---\nname: a\ndescription: |\n  b\n    files:\t1\u{202e}\n---\n", Ok(("a", "b files: 1", "")));
        // No YAML, and yet what many write.
        check(
            "---\nname: a\ndescription: Use when: \"x\" is y\n---\n",
            Ok(("a", "Use when: \"x\" is y", "")),
        );
    }

    #[test]
    fn what_is_no_yaml_leaves_the_other_fields_as_they_are() {
        let text = "---\nname: a\ndescription: Use when: x\nuser-invocable: false\n---\n";
        let (head, _) = front_matter(text).expect("it is read");
        assert_eq!(head.says("user-invocable"), Some(false));
        assert_eq!(head.says("name"), None);
    }

    #[test]
    fn a_wrong_head_is_told() {
        for text in ["", "---", "---\n", "---\nname: a\ndescription: b\n", "Body", " ---\nname: a\n---\n"] {
            check(text, Err("it must begin with a line `---`"));
        }
        check("---\ndescription: b\n---\n", Err("name: is missing"));
        check("---\nname: a\n---\n", Err("description: is missing"));
        check("---\nname: 1\ndescription: b\n---\n", Err("name: must be a text"));
        for name in ["A", "a_b", "-a", "a-", "a--b", "..", "a/b", "\"\"", "é"] {
            check(&format!("---\nname: {name}\ndescription: b\n---\n"), Err("name: must have 1 to 64"));
        }
        check(
            &format!("---\nname: {}\ndescription: b\n---\n", "a".repeat(65)),
            Err("name: must have 1 to 64"),
        );
        let long = "é".repeat(1025);
        check(&format!("---\nname: a\ndescription: {long}\n---\n"), Err("description: must have 1 to 1024"));
        check("---\nname: a\ndescription: \"\"\n---\n", Err("description: must have 1 to 1024"));
        check(
            "---\nname: a\ndescription: b\nuser-invocable: \"no\"\n---\n",
            Err("user-invocable: must be true or false"),
        );
        check("---\n- a\n---\n", Err("its head must be fields"));
        check("---\nname: a\nname: b\ndescription: c\n---\n", Err(""));
    }
}
