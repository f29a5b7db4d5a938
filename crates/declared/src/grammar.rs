//! What parsers say of a text that is no manifest, in words for whoever wrote it by hand, with what to try.

/// What the words of a parser begin with, and ours. What is not here is plain as it is.
const WORDS: &[(&str, &str)] = &[
    // JSON
    ("EOF while parsing a string", "the file ends within a text; close it with `\"`"),
    ("EOF while parsing a list", "the file ends within a list; close it with `]`"),
    ("EOF while parsing an object", "the file ends within a table; close it with `}`"),
    ("EOF while parsing", "the file ends where a value must stand"),
    (
        "control character",
        "a text is not closed on its line; close it with `\"`, and write a new line in it as `\\n`",
    ),
    ("key must be a string", "a name in double quotes must stand here; JSON has no comments"),
    ("trailing comma", "no comma may stand before `]` or `}`; take it out"),
    (
        "trailing characters",
        "the manifest has ended before this; take it out, or move it within the outermost `{ }`",
    ),
    ("expected `,` or `]`", "a comma is missing before this value, or the `]` that ends the list"),
    ("expected `,` or `}`", "a comma is missing before this, or the `}` that ends the table"),
    ("expected `:`", "a `:` is missing between a name and its value"),
    (
        "expected value",
        "no value begins so: a text stands in double quotes, a list in `[ ]`, a table in `{ }`; the others are numbers, \
         true, false and null",
    ),
    ("expected ident", "no value begins so; a text stands in double quotes"),
    // TOML
    ("invalid basic string", "a text is not closed on its line; close it with `\"`"),
    ("invalid literal string", "a text is not closed on its line; close it with `'`"),
    ("invalid float, expected `nan`", "no value begins so: a text stands in quotes, and TOML has no null"),
    ("string values must be quoted", "a text must stand in quotes"),
    ("key with no value", "a name without a value; write `name = value`"),
    (
        "missing comma between array elements",
        "a comma is missing before this value, or the `]` that ends the list",
    ),
    ("unclosed array", "a list is not closed; close it with `]`"),
    ("unclosed inline table", "a table is not closed; close it with `}`"),
    ("duplicate key", "this name is there twice; keep one of them"),
];

/// The kinds of values as serde calls them, and as people do.
const KINDS: &[(&str, &str)] = &[
    ("map", "a table"),
    ("a map", "a table"),
    ("struct ", "a table"),
    ("sequence", "a list"),
    ("a sequence", "a list"),
    ("string ", "the text "),
    ("a string", "a text"),
    ("integer ", "the number "),
    ("floating point ", "the number "),
    ("boolean ", ""),
    ("a boolean", "true or false"),
    ("u8", "a whole number that is not negative"),
    ("u16", "a whole number that is not negative"),
    ("u32", "a whole number that is not negative"),
    ("u64", "a whole number that is not negative"),
];

/// What a parser, or serde behind it, says of a text.
pub(crate) fn plain(said: &str) -> String {
    if let Some((_, ours)) = WORDS.iter().find(|(begins, _)| said.starts_with(begins)) {
        return (*ours).to_owned();
    }
    if let Some((got, wanted)) =
        said.strip_prefix("invalid type: ").and_then(|kinds| kinds.rsplit_once(", expected "))
    {
        return format!("it must be {}, and is {}", kind(wanted), kind(got));
    }
    match said.strip_prefix("duplicate field ") {
        Some(name) => format!("{name} is there twice; keep one of them"),
        None => said.to_owned(),
    }
}

fn kind(said: &str) -> String {
    let found = KINDS.iter().find_map(|(theirs, ours)| match said.strip_prefix(theirs)? {
        // The name of a type of ours says nothing to anybody.
        _ if *theirs == "struct " => Some((*ours).to_owned()),
        "" => Some((*ours).to_owned()),
        value if theirs.ends_with(' ') => Some(format!("{ours}{value}")),
        _ => None,
    });
    found.unwrap_or_else(|| said.to_owned())
}
