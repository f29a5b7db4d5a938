//! `Template`: the command of a manifest, and the words that one call makes of it. No shell ever reads them, and no value of a
//! call becomes an option of the program unless the manifest says that it may.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use tool_api::ToolError;

use crate::own_files::exposed;

/// Most words of a command: a longer one is a script, which belongs in a file.
const WORDS_MAX: usize = 64;

/// Most words that one call makes of it. The kernel takes 2 MiB of words and variables.
const WORDS_MADE_MAX: usize = 4096;

/// What names a file beside the manifest.
const BESIDE: &str = "./";

/// Behind this word nothing is an option any more.
const NO_MORE_OPTIONS: &str = "--";

/// A command with places for arguments.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Template {
    pub(crate) program: OsString,
    words: Vec<Word>,
    /// The files beside the manifest that it names, as absolute paths.
    pub(crate) files: Vec<PathBuf>,
    /// The folder that the manifest lies in.
    folder: PathBuf,
}

#[derive(Debug, PartialEq, Eq)]
struct Word {
    pieces: Vec<Piece>,
    /// True where a value may begin with a hyphen.
    takes_options: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    Argument(String),
}

impl Piece {
    /// The argument that stands there, if one does.
    pub(crate) fn argument(&self) -> Option<&str> {
        match self {
            Piece::Argument(name) => Some(name),
            Piece::Text(_) => None,
        }
    }
}

impl Template {
    /// Reads the command of a manifest that lies in `folder`. `properties` are what the tool takes.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub(crate) fn read(
        command: &[String],
        options_from: &[String],
        properties: Option<&Map<String, Value>>,
        folder: &Path,
    ) -> Result<Template, Vec<String>> {
        let mut problems = Vec::new();
        let mut files = Vec::new();
        let mut words = Vec::new();
        let mut is_behind = false;
        let type_of = |name: &str| properties.and_then(|all| all.get(name)).map(|schema| &schema["type"]);
        for name in options_from.iter().filter(|name| type_of(name).is_none()) {
            problems.push(format!("options_from: `inputs` has no argument {name:?}"));
        }
        for (nth, text) in command.iter().enumerate() {
            let pieces = match pieces(text) {
                Ok(pieces) => pieces,
                Err(why) => {
                    problems.push(format!("command[{nth}]: {why}"));
                    continue;
                }
            };
            for name in pieces.iter().filter_map(Piece::argument) {
                let why = match type_of(name) {
                    None => "names no argument of `inputs`",
                    Some(kind) if kind == "object" => {
                        "is an object, which is no word; it comes on standard input"
                    }
                    Some(kind) if kind == "array" && pieces.len() > 1 => {
                        "is a list, which stands for whole words only"
                    }
                    Some(_) => continue,
                };
                problems.push(format!("command[{nth}]: {{{name}}} {why}"));
            }
            if let [Piece::Text(text)] = &pieces[..] {
                is_behind |= text == NO_MORE_OPTIONS;
            }
            let takes_options = is_behind
                || matches!(&pieces[..], [Piece::Argument(name), ..] if options_from.contains(name));
            words.push(beside(Word { pieces, takes_options }, folder, &mut files));
        }
        let (there, missing): (Vec<PathBuf>, Vec<PathBuf>) =
            files.iter().cloned().partition(|file| sandbox::text_file::exists(file));
        problems.extend(missing.iter().map(|file| format!("command: there is no {}", file.display())));
        problems.extend(exposed(&there, folder).into_iter().map(|why| format!("command: {why}")));
        let program = match words.first().map(|word| &word.pieces[..]) {
            // One with spaces in its name would be named with its folder.
            Some([Piece::Text(program)]) if program.contains(' ') && !program.contains('/') => {
                let what = "is no program; write each word as an item of its own";
                problems.push(format!("command[0]: {program:?} {what}"));
                OsString::new()
            }
            Some([Piece::Text(program)]) if !program.is_empty() => program.into(),
            Some(_) => {
                problems.push("command[0]: the program is written out; no argument stands for it".to_owned());
                OsString::new()
            }
            None if command.is_empty() => {
                let what = "command: it names no program; give a list of the program and its arguments, or `http` or \
                            `mcp` in its place";
                problems.push(what.to_owned());
                OsString::new()
            }
            None => OsString::new(),
        };
        if command.len() > WORDS_MAX {
            problems.push(format!("command: it has {} words, at most {WORDS_MAX} can be", command.len()));
        }
        if problems.is_empty() {
            words.remove(0);
            return Ok(Template { program, words, files, folder: folder.to_owned() });
        }
        Err(problems)
    }

    /// Refuses to run what others could have written since the manifest was read: nothing says when a file changes that lies behind
    /// a link.
    ///
    /// # Errors
    /// They could.
    pub(crate) async fn held_to_us(&self) -> Result<(), ToolError> {
        if self.files.is_empty() {
            return Ok(());
        }
        let (files, folder) = (self.files.clone(), self.folder.clone());
        let look = move || exposed(&files, &folder);
        let looked = tokio::task::spawn_blocking(look).await.unwrap_or_else(|why| vec![why.to_string()]);
        match looked.is_empty() {
            true => Ok(()),
            false => Err(ToolError::new("program_not_run", looked.join("; "))),
        }
    }

    /// The words behind the program for a call with these arguments.
    ///
    /// # Errors
    /// A value cannot be a word, or would be read as an option.
    pub(crate) fn words(&self, arguments: &Value) -> Result<Vec<OsString>, ToolError> {
        let mut made = Vec::new();
        for word in &self.words {
            word.fill(arguments, &mut made)?;
            if made.len() > WORDS_MADE_MAX {
                return Err(invalid(format!("they make more than {WORDS_MADE_MAX} words of a command line")));
            }
        }
        Ok(made.into_iter().map(OsString::from).collect())
    }
}

impl Word {
    fn fill(&self, arguments: &Value, made: &mut Vec<String>) -> Result<(), ToolError> {
        if let [Piece::Argument(name)] = &self.pieces[..] {
            let values = match arguments.get(name) {
                Some(Value::Array(items)) => &items[..],
                Some(value) => std::slice::from_ref(value),
                None => &[],
            };
            for value in values.iter().filter(|value| !value.is_null()) {
                made.push(self.checked(name, text(name, value)?)?);
            }
            return Ok(());
        }
        let mut whole = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => whole.push_str(text),
                Piece::Argument(name) => match arguments.get(name).filter(|value| !value.is_null()) {
                    Some(value) => {
                        let text = text(name, value)?;
                        let text = if whole.is_empty() { self.checked(name, text)? } else { text };
                        whole.push_str(&text);
                    }
                    None => return Ok(()),
                },
            }
        }
        made.push(whole);
        Ok(())
    }

    /// The value, if the program cannot take it for an option or may.
    fn checked(&self, name: &str, text: String) -> Result<String, ToolError> {
        if text.starts_with('-') && !self.takes_options {
            return Err(invalid(format!(
                "`{name}` begins with `-`, and the program would read it as an option; write a path as `./-name`"
            )));
        }
        Ok(text)
    }
}

/// A value as a word.
pub(crate) fn text(name: &str, value: &Value) -> Result<String, ToolError> {
    match value {
        Value::String(text) if text.contains('\0') => {
            Err(invalid(format!("`{name}` has a NUL character in it, which no command line can hold")))
        }
        Value::String(text) => Ok(text.clone()),
        Value::Bool(_) | Value::Number(_) => Ok(value.to_string()),
        Value::Array(_) | Value::Object(_) | Value::Null => {
            Err(invalid(format!("`{name}` must be a text, a number or a boolean to stand here")))
        }
    }
}

pub(crate) fn invalid(why: String) -> ToolError {
    ToolError::new("invalid_arguments", why)
}

/// The word with the path of the file that it names, if it names one beside the manifest.
fn beside(word: Word, folder: &Path, files: &mut Vec<PathBuf>) -> Word {
    let [Piece::Text(text)] = &word.pieces[..] else { return word };
    let Some(name) = text.strip_prefix(BESIDE).filter(|name| !name.is_empty()) else { return word };
    let path = folder.join(name);
    let whole = path.to_string_lossy().into_owned();
    files.push(path);
    Word { pieces: vec![Piece::Text(whole)], ..word }
}

/// A word of the command, cut at its places for arguments.
pub(crate) fn pieces(word: &str) -> Result<Vec<Piece>, String> {
    let (mut pieces, mut text, mut rest) = (Vec::new(), String::new(), word);
    while let Some(at) = rest.find(['{', '}']) {
        text.push_str(&rest[..at]);
        let (brace, behind) = rest[at..].split_at(1);
        if let Some(behind) = behind.strip_prefix(brace) {
            text.push_str(brace);
            rest = behind;
            continue;
        }
        let place = (brace == "{").then(|| behind.split_once('}')).flatten();
        let Some((name, behind)) = place.filter(|(name, _)| !name.is_empty() && !name.contains('{')) else {
            return Err(format!(
                "{word:?} has a brace that belongs to no `{{NAME}}`; write `{{{{` or `}}}}` for one"
            ));
        };
        if !text.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut text)));
        }
        pieces.push(Piece::Argument(name.to_owned()));
        rest = behind;
    }
    text.push_str(rest);
    if text.contains('\0') {
        return Err("it has a NUL character in it".to_owned());
    }
    if !text.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Text(text));
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn template(command: &[&str], options_from: &[&str]) -> Result<Template, Vec<String>> {
        let owned = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        let properties = json!({
            "path": { "type": "string" }, "files": { "type": "array" }, "deep": { "type": "object" },
            "n": { "type": "integer" }, "any": {},
        });
        Template::read(
            &owned(command),
            &owned(options_from),
            properties.as_object(),
            Path::new("/no-such-folder"),
        )
    }

    #[track_caller]
    fn check(command: &[&str], arguments: Value, expected: Result<&[&str], &str>) {
        let words = template(command, &["any"]).expect("a command").words(&arguments);
        let words =
            words.as_ref().map(|words| words.iter().map(|word| word.to_str().expect("UTF-8")).collect());
        match (words, expected) {
            (Ok::<Vec<_>, _>(words), expected) => assert_eq!(Ok(&words[..]), expected, "{arguments}"),
            (Err(error), Err(why)) => assert!(error.to_string().contains(why), "{error}"),
            (Err(error), Ok(_)) => panic!("{error}"),
        }
    }

    #[test]
    fn arguments_stand_for_whole_words_or_within_one() {
        check(&["p", "a b", "$(x)"], json!({}), Ok(&["a b", "$(x)"]));
        check(
            &["p", "{path}"],
            json!({ "path": "a; rm -rf $HOME `x` \"y\"" }),
            Ok(&["a; rm -rf $HOME `x` \"y\""]),
        );
        check(&["p", "--file={path}", "{n}"], json!({ "path": "-x", "n": 7 }), Ok(&["--file=-x", "7"]));
        check(&["p", "{files}", "end"], json!({ "files": ["a", 1, true] }), Ok(&["a", "1", "true", "end"]));
        check(&["p", "{{{path}}}"], json!({ "path": "x" }), Ok(&["{x}"]));
        check(&["p", "{{}}"], json!({}), Ok(&["{}"]));
        check(&["p", ""], json!({}), Ok(&[""]));
        // What is absent leaves its word out.
        check(&["p", "{path}", "--n={n}", "{files}", "end"], json!({ "n": null }), Ok(&["end"]));
    }

    #[test]
    fn no_value_becomes_an_option_unless_the_manifest_says_so() {
        let option = Err("the program would read it as an option");
        check(&["p", "{path}"], json!({ "path": "-rf" }), option);
        check(&["p", "{path}"], json!({ "path": "--output=/x" }), option);
        check(&["p", "{files}"], json!({ "files": ["a", "-b"] }), option);
        check(&["p", "{path}.txt"], json!({ "path": "-x" }), option);
        check(&["p", "{n}"], json!({ "n": -1 }), option);
        check(&["p", "{any}"], json!({ "any": "-x" }), Ok(&["-x"]));
        check(&["p", "--", "{path}"], json!({ "path": "-x" }), Ok(&["--", "-x"]));
        check(&["p", "{path}", "--"], json!({ "path": "-x" }), option);
        // A value that is the word `--` changes nothing for those behind it.
        check(&["p", "{any}", "{path}"], json!({ "any": "--", "path": "-x" }), option);
    }

    #[test]
    fn what_is_no_word_is_refused() {
        check(&["p", "{path}"], json!({ "path": "a\0b" }), Err("NUL"));
        check(&["p", "{any}"], json!({ "any": { "a": 1 } }), Err("must be a text, a number or a boolean"));
        check(&["p", "{files}"], json!({ "files": [["a"]] }), Err("must be a text, a number or a boolean"));
        check(&["p", "x{any}"], json!({ "any": ["a"] }), Err("must be a text, a number or a boolean"));
        check(&["p", "{files}"], json!({ "files": vec!["a"; 5000] }), Err("more than 4096 words"));
    }

    #[test]
    fn commands_that_make_no_sense() {
        for (command, why) in [
            (
                &[][..],
                "command: it names no program; give a list of the program and its arguments, or `http` or `mcp` in its place",
            ),
            (&["wc -l", "p"], "command[0]: \"wc -l\" is no program; write each word as an item of its own"),
            (&["{path}"], "command[0]: the program is written out; no argument stands for it"),
            (&[""], "command[0]: the program is written out; no argument stands for it"),
            (&["p", "{pth}"], "command[1]: {pth} names no argument of `inputs`"),
            (
                &["p", "{deep}"],
                "command[1]: {deep} is an object, which is no word; it comes on standard input",
            ),
            (&["p", "x{files}"], "command[1]: {files} is a list, which stands for whole words only"),
            (
                &["p", "{path"],
                "command[1]: \"{path\" has a brace that belongs to no `{NAME}`; write `{{` or `}}` for one",
            ),
            (
                &["p", "}"],
                "command[1]: \"}\" has a brace that belongs to no `{NAME}`; write `{{` or `}}` for one",
            ),
            (&["p", "a\0"], "command[1]: it has a NUL character in it"),
            (&["./p"], "command: there is no /no-such-folder/p"),
            (&["p"; 65], "command: it has 65 words, at most 64 can be"),
        ] {
            assert_eq!(template(command, &[]), Err(vec![why.to_owned()]), "{command:?}");
        }
        let why = "options_from: `inputs` has no argument \"flag\"";
        assert_eq!(template(&["p"], &["flag"]), Err(vec![why.to_owned()]));
    }
}
