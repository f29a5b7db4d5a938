//! Follows the references by which the configuration names its secrets. What comes back is never shown.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use upstream::{NotFollowed, Reference};

use crate::find;
use crate::kept::Kept;
use crate::surroundings::Surroundings;
use sandbox::text_file;

/// A secret is a line or a key, not a document.
const SECRET_BYTES_MAX: usize = 64 * 1024;

/// What a reference means that cannot be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfollowed {
    /// A problem of the configuration: for whoever asks whether it is right.
    IsWrong,
    /// The server fails whose variable is not set, whose file is not there or whose secret is not kept; the others run.
    /// Anything else is a problem: what exists and cannot be read could not be struck out.
    FailsItsServer,
    /// Nothing, since no server is going to be started: a key must be revocable whatever is wrong with some table.
    IsPassedOver,
}

impl Unfollowed {
    /// What becomes of a reference that was not followed.
    pub fn judge(self, why: NotFollowed) -> NotFollowed {
        match (self, why) {
            (Unfollowed::IsWrong, NotFollowed::Missing(why)) => NotFollowed::Wrong(why),
            (Unfollowed::IsPassedOver, NotFollowed::Wrong(why)) => NotFollowed::Missing(why),
            (_, why) => why,
        }
    }
}

/// The text that a reference names; the secrets of the store are in `kept`.
///
/// # Errors
/// What is missing, in a sentence that names the place and never the content.
pub(crate) fn follow(
    reference: &Reference,
    surroundings: &Surroundings,
    kept: Option<&Kept>,
) -> Result<String, NotFollowed> {
    match (reference, kept) {
        (Reference::Env(name), _) => from_environment(name, surroundings),
        (Reference::File(path), _) => from_file(path, &surroundings.absolute(Path::new(path))),
        (Reference::Store(name), Some(kept)) => kept.value(name),
        // That is told by itself.
        (Reference::Store(_), None) => {
            Err(NotFollowed::Wrong("there is no place where secrets are kept".to_owned()))
        }
    }
}

/// How far the references of a folder's server lead: to the environment, to files in the folder, and to the kept secrets
/// that a person has let it use.
pub(crate) struct Within<'a> {
    pub server: &'a str,
    pub table: &'a upstream::Config,
    /// The folder.
    pub folder: PathBuf,
    /// The kept secrets that were agreed to.
    pub secrets: &'a BTreeSet<String>,
}

impl Within<'_> {
    /// The text that a reference names. Whatever is wrong fails this server alone.
    ///
    /// # Errors
    /// As [`follow`], and if it leads out.
    pub(crate) fn follow(
        &self,
        reference: &Reference,
        surroundings: &Surroundings,
        kept: Option<&Kept>,
    ) -> Result<String, NotFollowed> {
        let missing = |why: NotFollowed| match why {
            NotFollowed::Wrong(why) | NotFollowed::Missing(why) => NotFollowed::Missing(why),
        };
        self.check(reference, surroundings, kept).map_err(NotFollowed::Missing)?;
        follow(reference, surroundings, kept).map_err(missing)
    }

    fn check(
        &self,
        reference: &Reference,
        surroundings: &Surroundings,
        kept: Option<&Kept>,
    ) -> Result<(), String> {
        match reference {
            Reference::Env(_) => Ok(()),
            Reference::File(path) => {
                let is_inside = text_file::real(&surroundings.absolute(Path::new(path)))
                    .starts_with(text_file::real(&self.folder));
                let why =
                    || format!("a folder's file reads files of its own folder only, and {path} is elsewhere");
                is_inside.then_some(()).ok_or_else(why)
            }
            Reference::Store(name) if self.secrets.contains(name) => Ok(()),
            Reference::Store(name) => match kept.map(|kept| kept.is_for(name, self.server, self.host())) {
                Some(Ok(true)) => Ok(()),
                Some(Err(why)) => Err(why),
                Some(Ok(false)) | None => Err(format!(
                    "the kept secret {name} is not for this server, which a folder declares; let it be used with `toolcrib \
                     secrets set {name} --for {}`",
                    self.server
                )),
            },
        }
    }

    /// The host that it is sent to, if that is written out.
    fn host(&self) -> Option<String> {
        let url: http::Uri = self.table.url.as_ref()?.parse().ok()?;
        url.host().map(str::to_ascii_lowercase)
    }
}

fn from_environment(name: &str, surroundings: &Surroundings) -> Result<String, NotFollowed> {
    let missing = || NotFollowed::Missing(format!("the environment variable {name} is not set"));
    let wrong = || NotFollowed::Wrong(format!("the environment variable {name} is no text"));
    let found = surroundings.variable(name).ok_or_else(missing)?;
    found.to_str().map(str::to_owned).ok_or_else(wrong)
}

fn from_file(path: &str, absolute: &Path) -> Result<String, NotFollowed> {
    let text = find::read(absolute).map_err(|error| match error.kind() {
        ErrorKind::NotFound => NotFollowed::Missing(format!("there is no file {path}")),
        _ => NotFollowed::Wrong(format!("the file {path} cannot be read: {error}")),
    })?;
    // Editors and `echo` end a file with a line break that is no part of the secret.
    let text = text.strip_suffix('\n').map_or(text.as_str(), |line| line.strip_suffix('\r').unwrap_or(line));
    match text.len() {
        0 => Err(NotFollowed::Missing(format!("the file {path} is empty"))),
        bytes if bytes > SECRET_BYTES_MAX => {
            Err(NotFollowed::Wrong(format!("the file {path} is larger than 64 KiB")))
        }
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
        let surroundings =
            Surroundings { current_dir: folder.path().to_owned(), variables, ..Surroundings::default() };
        let kept = Kept::new(folder.path(), store::KeySource::State);
        let found = follow(&reference, &surroundings, Some(&kept));
        let said = found.map_err(|why| match why {
            NotFollowed::Wrong(why) | NotFollowed::Missing(why) => why,
        });
        assert_eq!(said, expected.map(str::to_owned).map_err(str::to_owned));
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
        let missing = "no secret TOKEN is kept here; set it with `toolcrib secrets set TOKEN`, then run `toolcrib mcp \
                       reload`";
        check(Reference::Store("TOKEN".into()), Err(missing));
        check(file("none"), Err("there is no file none"));
    }
}
