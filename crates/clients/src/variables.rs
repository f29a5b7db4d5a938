//! The variables in other clients' texts, made ours: `${env:NAME}` and `${file:PATH}`. What cannot be made ours is left
//! to a person.

use std::path::{Path, PathBuf};

use sandbox::text_file;

use crate::origin::{self, Origin};

/// Which variables a client replaces in its texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// None. A `${NAME}` in a value is still taken for one: whoever wrote it meant it so.
    Plain,
    /// `${NAME}` and `${NAME:-default}`.
    Shell,
    /// `${env:NAME}`, `${input:ID}`, `${workspaceFolder}` and the like.
    Editor,
    /// `{env:NAME}` and `{file:PATH}`.
    Braces,
}

/// What a text is, which settles what is replaced in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextKind {
    /// A command, an argument, a folder or an address.
    Word,
    /// The value of an environment variable or a header.
    Value,
}

/// What came up while texts were read.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// What is different now or left out, as sentences.
    pub remarks: Vec<String>,
    /// What a person must do before the server can run.
    pub missing: Vec<String>,
}

impl Findings {
    /// Adds what came up elsewhere.
    pub fn absorb(&mut self, others: Findings) {
        self.remarks.extend(others.remarks);
        others.missing.into_iter().for_each(|what| self.missing(what));
    }

    fn remark(&mut self, remark: String) {
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }

    /// Says what a person must do.
    pub fn missing(&mut self, what: String) {
        if !self.missing.contains(&what) {
            self.missing.push(what);
        }
    }
}

/// What a client's variable becomes.
enum Replaced {
    /// A reference of ours.
    Reference(String),
    /// A text that stands for itself.
    Text(String),
    /// It stays as it is, as no variable or as one that a person has to see to.
    Nothing,
}

/// The text with the client's variables made ours.
pub(crate) fn translated(
    text: &str,
    kind: TextKind,
    syntax: Syntax,
    origin: &Origin<'_>,
    findings: &mut Findings,
) -> String {
    let (open, shell) = match (syntax, kind) {
        (Syntax::Plain, TextKind::Word) => return escaped(text),
        (Syntax::Plain, TextKind::Value) | (Syntax::Shell, _) => ("${", true),
        (Syntax::Editor, _) => ("${", false),
        (Syntax::Braces, _) => ("{", false),
    };
    let mut out = String::new();
    // Escaped whole: two pieces together may read as a reference.
    let mut plain = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(open) {
        let inner = start + open.len();
        let Some(end) = rest[inner..].find('}').map(|end| inner + end) else { break };
        let (name, whole) = (&rest[inner..end], &rest[start..=end]);
        let replaced = match syntax {
            _ if shell => shell_variable(name, whole, origin, findings),
            Syntax::Braces => braced(name, origin, findings),
            _ => editor_variable(name, whole, origin, findings),
        };
        plain.push_str(&rest[..start]);
        match replaced {
            // It would keep our reference from being one.
            Replaced::Reference(_) if plain.ends_with('$') => {
                findings.missing(format!("a value in place of `${whole}`"));
                plain.push_str(whole);
            }
            Replaced::Reference(reference) => {
                out.push_str(&escaped(&std::mem::take(&mut plain)));
                out.push_str(&reference);
            }
            Replaced::Text(text) => plain.push_str(&text),
            Replaced::Nothing => plain.push_str(whole),
        }
        rest = &rest[end + 1..];
    }
    plain.push_str(rest);
    out + &escaped(&plain)
}

/// What stands for itself there must do so here, in each of our spellings.
fn escaped(text: &str) -> String {
    let starts = ["{env:", "{file:", "{store:"];
    starts.iter().fold(text.to_owned(), |text, start| text.replace(start, &format!("{{{start}")))
}

fn shell_variable(name: &str, whole: &str, origin: &Origin<'_>, findings: &mut Findings) -> Replaced {
    let (name, default) = name.split_once(":-").map_or((name, None), |(name, default)| (name, Some(default)));
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_name {
        return Replaced::Nothing;
    }
    if let Some(default) = default {
        if origin.surroundings.variable(name).is_none() {
            findings.remark(format!("`{whole}` became its default, since {name} is not set"));
            return Replaced::Text(default.to_owned());
        }
        findings.remark(format!("`{whole}` lost its default, since {name} is set"));
    }
    Replaced::Reference(environment(name, origin, findings))
}

fn braced(name: &str, origin: &Origin<'_>, findings: &mut Findings) -> Replaced {
    if let Some(name) = name.strip_prefix("env:") {
        return Replaced::Reference(environment(name.trim(), origin, findings));
    }
    let Some(path) = name.strip_prefix("file:").map(str::trim) else { return Replaced::Nothing };
    let path = match (path.strip_prefix("~/"), origin::home(origin.surroundings)) {
        (Some(below), Some(home)) => home.join(below),
        _ => origin.place.path.parent().unwrap_or(Path::new("/")).join(path),
    };
    let path: PathBuf = path.components().collect();
    if path.display().to_string().contains('}') {
        findings
            .missing(format!("another name for the file {}, which no reference can hold", path.display()));
        return Replaced::Nothing;
    }
    if !text_file::is_file(&path) {
        findings.missing(format!("the file {}, which is not there", path.display()));
    }
    Replaced::Reference(format!("${{file:{}}}", path.display()))
}

fn editor_variable(name: &str, whole: &str, origin: &Origin<'_>, findings: &mut Findings) -> Replaced {
    let project = origin.place.project.as_deref();
    let folder = match name {
        "workspaceFolder" => project.map(Path::to_owned),
        "workspaceFolderBasename" => project.and_then(Path::file_name).map(PathBuf::from),
        "userHome" => origin::home(origin.surroundings),
        "pathSeparator" | "/" => Some("/".into()),
        _ => None,
    };
    match (folder, name.strip_prefix("env:")) {
        (Some(folder), _) => Replaced::Text(folder.display().to_string()),
        (None, Some(name)) => Replaced::Reference(environment(name, origin, findings)),
        (None, None) => {
            findings.missing(format!("a value in place of `{whole}`"));
            Replaced::Nothing
        }
    }
}

/// Our reference to an environment variable, which should be set.
pub(crate) fn environment(name: &str, origin: &Origin<'_>, findings: &mut Findings) -> String {
    // What follows the brace could be a reference of its own.
    if name.contains('}') {
        findings.missing(format!(
            "a value in place of the environment variable {name:?}, which has no such name"
        ));
        return String::new();
    }
    if origin.surroundings.variable(name).is_none() {
        findings.missing(format!("the environment variable {name}, which is not set"));
    }
    format!("${{env:{name}}}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::origin::{ClientFile, Surroundings};

    /// What the text becomes, and everything that came up.
    #[track_caller]
    fn check(syntax: Syntax, kind: TextKind, text: &str, expected: &str) {
        let variables =
            [("HOME", "/home/ada"), ("SET", "x")].map(|(name, value)| (name.into(), value.into()));
        let surroundings = Surroundings { current_dir: "/".into(), variables: variables.into() };
        let place = ClientFile::named("/project/.vscode/mcp.json".into());
        let mut findings = Findings::default();
        let origin = Origin { place: &place, surroundings: &surroundings };
        let mut said = translated(text, kind, syntax, &origin, &mut findings);
        findings.remarks.iter().for_each(|remark| said += &format!("; {remark}"));
        findings.missing.iter().for_each(|what| said += &format!("; needs {what}"));
        assert_eq!(said, expected, "{text}");
    }

    #[test]
    fn a_shell_has_defaults() {
        for (text, expected) in [
            ("${SET}", "${env:SET}"),
            ("a ${SET}${SET} b", "a ${env:SET}${env:SET} b"),
            ("${NOT}", "${env:NOT}; needs the environment variable NOT, which is not set"),
            ("${NOT:-x:-y}", "x:-y; `${NOT:-x:-y}` became its default, since NOT is not set"),
            ("${NOT:-}", "; `${NOT:-}` became its default, since NOT is not set"),
            ("${SET:-x}", "${env:SET}; `${SET:-x}` lost its default, since SET is set"),
            ("$SET ${1} ${a b} ${", "$SET ${1} ${a b} ${"),
            // It stands for itself there, and must not be followed here.
            ("${env:SET}", "${{env:SET}"),
            ("{env:SET} {file:/etc/passwd}", "{{env:SET} {{file:/etc/passwd}"),
            ("{{env:SET}}${file:/a}", "{{{env:SET}}${{file:/a}"),
            ("${store:KEPT} {store:KEPT}", "${{store:KEPT} {{store:KEPT}"),
            ("${NOT:-{env:SET}}", "{{env:SET}; `${NOT:-{env:SET}` became its default, since NOT is not set"),
            ("{${NOT:-env:A}}", "{{env:A}; `${NOT:-env:A}` became its default, since NOT is not set"),
            ("$${SET}", "$${SET}; needs a value in place of `$${SET}`"),
            ("ä${SET}ö", "ä${env:SET}ö"),
        ] {
            check(Syntax::Shell, TextKind::Word, text, expected);
        }
    }

    #[test]
    fn a_client_without_variables_means_them_in_values_only() {
        check(Syntax::Plain, TextKind::Word, "echo ${SET} ${env:SET}", "echo ${SET} ${{env:SET}");
        check(Syntax::Plain, TextKind::Word, "--x={env:SET}", "--x={{env:SET}");
        check(Syntax::Plain, TextKind::Value, "{file:/etc/passwd}", "{{file:/etc/passwd}");
        check(Syntax::Plain, TextKind::Value, "Bearer ${store:KEPT}", "Bearer ${{store:KEPT}");
        check(Syntax::Plain, TextKind::Value, "Bearer ${SET}", "Bearer ${env:SET}");
    }

    #[test]
    fn an_editor_knows_its_folders() {
        for (text, expected) in [
            ("${env:SET}", "${env:SET}"),
            ("${workspaceFolder}${/}a", "/project/a"),
            ("${workspaceFolderBasename}", "project"),
            ("${userHome}${pathSeparator}b", "/home/ada/b"),
            ("${input:k}", "${input:k}; needs a value in place of `${input:k}`"),
            ("${command:x.y}", "${command:x.y}; needs a value in place of `${command:x.y}`"),
            ("{env:SET}", "{{env:SET}"),
            ("${input:{env:SET}", "${input:{{env:SET}; needs a value in place of `${input:{env:SET}`"),
        ] {
            check(Syntax::Editor, TextKind::Value, text, expected);
        }
    }

    #[test]
    fn opencode_writes_braces() {
        for (text, expected) in [
            ("{env:SET}", "${env:SET}"),
            ("Bearer {env:SET}!", "Bearer ${env:SET}!"),
            ("{file:k}", "${file:/project/.vscode/k}; needs the file /project/.vscode/k, which is not there"),
            ("{file:~/k}", "${file:/home/ada/k}; needs the file /home/ada/k, which is not there"),
            ("{\"a\": {}}", "{\"a\": {}}"),
            ("${env:SET}", "${{env:SET}; needs a value in place of `${env:SET}`"),
            ("{{env:SET}", "{{{env:SET}"),
        ] {
            check(Syntax::Braces, TextKind::Value, text, expected);
        }
    }
}
