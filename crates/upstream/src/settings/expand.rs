//! References inside texts: `${env:NAME}`, `${file:PATH}` and `${store:NAME}`, all also without the `$`. A second `$`, or a second
//! brace, leaves them as they are: `$${env:NAME}` reads `${env:NAME}`, and `{{env:NAME}` reads `{env:NAME}`. `${workspace}`
//! stands for the workspace's folder. Anything else in braces is nobody's here.

use super::workspace_words::WORKSPACE;
use crate::config::Reference;

/// A piece of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part<'t> {
    /// It stands for itself.
    Plain(&'t str),
    /// It stands for what is kept elsewhere.
    Reference(Reference),
    /// It stands for the workspace's folder.
    Workspace,
}

type Make = fn(String) -> Reference;

/// How references begin, and what they lead to.
const KINDS: [(&str, Make); 3] =
    [("{env:", Reference::Env), ("{file:", Reference::File), ("{store:", Reference::Store)];

/// The references in a text of a table, such as a header; nothing if the text cannot be used. For whoever shows a text
/// and must not show what else is in it.
pub fn references(text: &str) -> Vec<Reference> {
    let reference = |part| match part {
        Part::Plain(_) | Part::Workspace => None,
        Part::Reference(reference) => Some(reference),
    };
    parts(text).unwrap_or_default().into_iter().filter_map(reference).collect()
}

/// The pieces of `text`.
///
/// # Errors
/// If a reference has no end or names nothing.
pub(super) fn parts(text: &str) -> Result<Vec<Part<'_>>, String> {
    let mut parts = Vec::new();
    let (mut begun, mut at) = (0, 0);
    while let Some(brace) = text[at..].find('{').map(|found| at + found) {
        at = brace + 1;
        let kind = KINDS.into_iter().find(|(start, _)| text[brace..].starts_with(start));
        // With its `$` alone: `{workspace}` is what others write for what is theirs.
        let dollar = brace.saturating_sub(1);
        if kind.is_none() && !text[dollar..].starts_with(WORKSPACE) {
            continue;
        }
        let before = &text[begun..brace];
        if before.ends_with("$$") || before.ends_with('{') {
            // The second of them goes, and the brace behind it is only a brace.
            parts.push(Part::Plain(&before[..before.len() - 1]));
            begun = brace;
            continue;
        }
        let (part, end) = match kind {
            Some((start, make)) => reference(text, brace, start, make)?,
            None => (Part::Workspace, dollar + WORKSPACE.len()),
        };
        parts.push(Part::Plain(before.strip_suffix('$').unwrap_or(before)));
        parts.push(part);
        (begun, at) = (end, end);
    }
    parts.push(Part::Plain(&text[begun..]));
    parts.retain(|part| *part != Part::Plain(""));
    Ok(parts)
}

/// The reference at `brace`, and where the text goes on behind it.
fn reference<'t>(text: &'t str, brace: usize, start: &str, make: Make) -> Result<(Part<'t>, usize), String> {
    let named = brace + start.len();
    let end = text[named..].find('}').ok_or_else(|| format!("`{start}` has no `}}` behind it"))?;
    let name = text[named..named + end].trim();
    if name.is_empty() {
        return Err(format!("`{start}}}` names nothing"));
    }
    Ok((Part::Reference(make(name.to_owned())), named + end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let part = |part: &Part<'_>| match part {
            Part::Plain(text) => (*text).to_owned(),
            Part::Workspace => "<workspace>".to_owned(),
            Part::Reference(Reference::Env(name)) => format!("<env {name}>"),
            Part::Reference(Reference::File(path)) => format!("<file {path}>"),
            Part::Reference(Reference::Store(name)) => format!("<store {name}>"),
        };
        let shown = parts(text).map_or_else(|why| why, |parts| parts.iter().map(part).collect());
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn references_stand_anywhere() {
        for (text, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("${env:A}", "<env A>"),
            ("{env:A}", "<env A>"),
            ("Bearer ${env:A}!", "Bearer <env A>!"),
            ("${file:/run/a b.txt}", "<file /run/a b.txt>"),
            ("{file:~/t}${env:A}{env:B}", "<file ~/t><env A><env B>"),
            ("ä${env:Ä}ö", "ä<env Ä>ö"),
            ("Bearer ${store:A}{store:B}$${store:C}", "Bearer <store A><store B>${store:C}"),
            ("$ {env:A}", "$ <env A>"),
            ("${workspace}", "<workspace>"),
            ("a${workspace}${env:A}${workspace}/b", "a<workspace><env A><workspace>/b"),
            ("{env:A}{workspace}$${workspace}", "<env A>{workspace}${workspace}"),
            ("${{workspace}ä${workspace}", "${{workspace}ä<workspace>"),
        ] {
            check(text, expected);
        }
    }

    #[test]
    fn what_is_no_reference_of_ours_stays() {
        for text in
            ["${A}", "$A", "{A}", "{", "${", "${ENV:A}", "{ env:A}", "{environment:A}", "{{}}", "${input:k}"]
        {
            check(text, text);
        }
    }

    #[test]
    fn a_second_dollar_leaves_it_as_it_is() {
        for (text, expected) in [
            ("$${env:A}", "${env:A}"),
            ("a$${file:b}c", "a${file:b}c"),
            ("$$${env:A}", "$${env:A}"),
            ("$${env:A}${env:A}", "${env:A}<env A>"),
            ("${env:A}$${env:A}", "<env A>${env:A}"),
            ("$$ ${env:A}", "$$ <env A>"),
        ] {
            check(text, expected);
        }
    }

    #[test]
    fn a_second_brace_leaves_it_as_it_is() {
        for (text, expected) in [
            ("{{env:A}", "{env:A}"),
            ("a{{file:/b}c", "a{file:/b}c"),
            ("{{{env:A}", "{{env:A}"),
            ("${{env:A}", "${env:A}"),
            ("{{env:A}{env:A}", "{env:A}<env A>"),
            ("{env:A}{{env:A}", "<env A>{env:A}"),
            ("{ {env:A}", "{ <env A>"),
            ("{${env:A}}", "{<env A>}"),
        ] {
            check(text, expected);
        }
    }

    #[test]
    fn references_are_named_without_what_stands_around_them() {
        let (env, file) =
            (|name: &str| Reference::Env(name.into()), |path: &str| Reference::File(path.into()));
        assert_eq!(references("Bearer {env:A}, $${env:B} ${file:/c}"), [env("A"), file("/c")]);
        assert_eq!(references("{env:A} ${env:"), []);
    }

    #[test]
    fn what_is_begun_must_be_ended() {
        check("a ${env:A", "`{env:` has no `}` behind it");
        check("${file:}", "`{file:}` names nothing");
        check("{env: }", "`{env:}` names nothing");
    }
}
