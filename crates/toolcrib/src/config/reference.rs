//! Follows the references by which the configuration names its secrets. What comes back is never shown.

use std::path::Path;

use upstream::Reference;

use super::find;
use super::surroundings::Surroundings;

/// A secret is a line or a key, not a document.
const SECRET_BYTES_MAX: usize = 64 * 1024;

/// The text that a reference names.
///
/// # Errors
/// What is missing, in a sentence that names the place and never the content.
pub(crate) fn follow(reference: &Reference, surroundings: &Surroundings) -> Result<String, String> {
    match reference {
        Reference::Env(name) => from_environment(name, surroundings),
        Reference::File(path) => from_file(path, &surroundings.absolute(Path::new(path))),
    }
}

fn from_environment(name: &str, surroundings: &Surroundings) -> Result<String, String> {
    let found = surroundings.variable(name);
    let found = found.ok_or(format!("the environment variable {name} is not set"))?;
    let text = found.to_str().ok_or(format!("the environment variable {name} is no text"))?;
    Ok(text.to_owned())
}

fn from_file(path: &str, absolute: &Path) -> Result<String, String> {
    let text = find::read(absolute).map_err(|error| format!("the file {path} cannot be read: {error}"))?;
    // Editors and `echo` end a file with a line break that is no part of the secret.
    let text = text.strip_suffix('\n').map_or(text.as_str(), |line| line.strip_suffix('\r').unwrap_or(line));
    match text.len() {
        0 => Err(format!("the file {path} is empty")),
        bytes if bytes > SECRET_BYTES_MAX => Err(format!("the file {path} is larger than 64 KiB")),
        _ => Ok(text.to_owned()),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests write the files that references name")]
mod tests {
    use super::*;

    #[track_caller]
    fn check(reference: Reference, expected: Result<&str, &str>) {
        let folder = tempfile::tempdir().expect("a folder");
        let large = "x".repeat(SECRET_BYTES_MAX + 1);
        for (name, text) in [("token", "from a file\r\n"), ("empty", "\n"), ("large", &large)] {
            std::fs::write(folder.path().join(name), text).expect("a file");
        }
        let variables = [("TOKEN".into(), "from outside".into()), ("EMPTY".into(), "".into())].into();
        let surroundings = Surroundings { current_dir: folder.path().to_owned(), variables };
        let found = follow(&reference, &surroundings);
        assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned));
    }

    #[test]
    fn references_lead_to_their_texts_or_say_what_is_missing() {
        let env = |name: &str| Reference::Env(name.into());
        let file = |path: &str| Reference::File(path.into());
        check(env("TOKEN"), Ok("from outside"));
        check(env("NONE"), Err("the environment variable NONE is not set"));
        check(env("EMPTY"), Err("the environment variable EMPTY is not set"));
        check(file("token"), Ok("from a file"));
        check(file("empty"), Err("the file empty is empty"));
        check(file("large"), Err("the file large is larger than 64 KiB"));
        check(file("none"), Err("the file none cannot be read: No such file or directory (os error 2)"));
    }
}
