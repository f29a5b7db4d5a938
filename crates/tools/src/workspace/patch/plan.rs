//! What a patch does to which files, as steps that are all known to be possible before the first is done.

use std::collections::HashSet;
use std::os::unix::fs::PermissionsExt as _;

use diffy::patch_set::{FileMode, FileOperation, FilePatch, ParseOptions, PatchSet};
use diffy::{Hunk, Line};
use tool_api::{Expect, FileError, Inside, Root, ToolError};

use super::super::whole_text::{WholeText, has_crlf_alone};
use super::super::writer::CONTENT_BYTES_MAX;
use super::hunk_counts::{counted, in_words};
use super::hunks::{Fitted, fit};
use super::looking::Looking;
use super::steps::Step;

/// Most bytes of all files together, before and after.
const BYTES_MAX: usize = 64 * 1024 * 1024;

/// Most faults that are told.
const FAULTS_MAX: usize = 20;

/// A patch that fits.
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    /// Each file with what becomes of it.
    pub(super) told: Vec<(String, String)>,
}

struct Planning<'a> {
    paths: &'a [Inside],
    files: &'a Root,
    fuzz: usize,
    looking: &'a Looking<'a>,
    is_git: bool,
    /// Whether the patch has `\r` itself; if not, line ends of a file that has them are its own.
    has_cr: bool,
    seen: HashSet<Inside>,
    bytes: usize,
    plan: Plan,
}

/// Why a file cannot be patched: some hunks, or all of it.
type Faults = Vec<String>;

impl Plan {
    /// Of a patch whose files are among `paths`. Blocks.
    pub(super) fn of(
        patch: &str,
        paths: &[Inside],
        fuzz: usize,
        files: &Root,
        looking: &Looking<'_>,
    ) -> Result<Plan, ToolError> {
        let is_git = patch.lines().any(|line| line.starts_with("diff --git "));
        let options = if is_git { ParseOptions::gitdiff() } else { ParseOptions::unidiff() };
        let plan = Plan { steps: Vec::new(), told: Vec::new() };
        let has_cr = patch.contains('\r');
        let seen = HashSet::new();
        let mut planning = Planning { paths, files, fuzz, looking, is_git, has_cr, seen, bytes: 0, plan };
        let mut faults = Vec::new();
        for one in PatchSet::parse(&counted(patch)?, options) {
            let one = one.map_err(|error| in_words(&error))?;
            faults.extend(planning.file(&one).err().into_iter().flatten());
            looking.check_cancel()?;
            if looking.is_over() {
                break;
            }
        }
        if faults.is_empty() {
            return Ok(planning.plan);
        }
        let more = faults.len().saturating_sub(FAULTS_MAX);
        faults.truncate(FAULTS_MAX);
        if more > 0 {
            faults.push(format!("and {more} more"));
        }
        let message = format!("the patch does not fit; nothing was changed:\n{}", faults.join("\n"));
        Err(ToolError::new("patch_failed", message))
    }
}

impl Planning<'_> {
    fn file(&mut self, one: &FilePatch<'_, str>) -> Result<(), Faults> {
        let operation = one.operation();
        let name = match operation {
            FileOperation::Delete(path) | FileOperation::Create(path) => path,
            FileOperation::Modify { modified, .. } => modified,
            FileOperation::Rename { to, .. } | FileOperation::Copy { to, .. } => to,
        };
        let fault = |why: &str| vec![format!("{name}: {why}")];
        let Some(patch) = one.patch().as_text() else {
            return Err(fault("it is binary; only text is patched"));
        };
        let is_odd = |mode: Option<&FileMode>| matches!(mode, Some(FileMode::Symlink | FileMode::Gitlink));
        if is_odd(one.old_mode()) || is_odd(one.new_mode()) {
            return Err(fault("it is a link or a submodule; only files are patched"));
        }
        let hunks = patch.hunks();
        let is_context = |line: &Line<'_, str>| matches!(line, Line::Context(_));
        let is_same = hunks.iter().all(|hunk| hunk.lines().iter().all(is_context));
        if is_same && one.new_mode().is_none() && matches!(operation, FileOperation::Modify { .. }) {
            return Err(fault(match hunks {
                [] => "no hunk stands behind its name; one begins with `@@ -12,3 +12,4 @@`",
                _ => "its hunks add nothing and remove nothing",
            }));
        }
        let path = match operation {
            FileOperation::Create(path) => self.create(self.named(path)?, None, hunks, "added"),
            FileOperation::Delete(path) => self.delete(self.named(path)?, hunks),
            FileOperation::Modify { original, modified } => {
                let path = self.named(modified).or_else(|fault| self.named(original).map_err(|_| fault))?;
                self.change(path.clone(), path, hunks, "changed".to_owned())
            }
            FileOperation::Rename { from, to } => {
                let (from, to) = (self.named(from)?, self.named(to)?);
                self.rename(from, to, hunks)
            }
            FileOperation::Copy { from, to } => {
                let (from, to) = (self.named(from)?, self.named(to)?);
                self.copy(&from, to, hunks)
            }
        }?;
        let is_executable = match one.new_mode() {
            Some(FileMode::Executable) => true,
            Some(FileMode::Regular) if !operation.is_create() => false,
            _ => return Ok(()),
        };
        self.plan.steps.push(Step::Mode { path, is_executable });
        Ok(())
    }

    /// The file of the call that a name of the patch means: as it stands, or without its first folder, which of git's
    /// prefixes is the more likely.
    fn named(&self, name: &str) -> Result<Inside, Faults> {
        let without = name.split_once('/').map(|(_, rest)| rest);
        let has_prefix = self.is_git && (name.starts_with("a/") || name.starts_with("b/"));
        let names = if has_prefix { [without, Some(name)] } else { [Some(name), without] };
        let of_call = |name| self.files.locate(name).ok().filter(|path| self.paths.contains(path));
        names.into_iter().flatten().find_map(of_call).ok_or_else(|| {
            // As it is to be named: a patch by hand has these prefixes as well.
            let name = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name);
            vec![format!("{name}: `paths` does not name it; name every file that the patch is about")]
        })
    }

    fn read(&mut self, path: &Inside) -> Result<WholeText, Faults> {
        let text = WholeText::read(self.files, path).map_err(|error| vec![format!("{path}: {error}")])?;
        self.take(path, text.text().len())?;
        Ok(text)
    }

    fn take(&mut self, path: &Inside, bytes: usize) -> Result<(), Faults> {
        self.bytes += bytes;
        if self.bytes > BYTES_MAX || bytes > CONTENT_BYTES_MAX {
            return Err(vec![format!("{path}: the files are too large together; cut the patch")]);
        }
        Ok(())
    }

    /// A file is in a patch once.
    fn first(&mut self, path: &Inside) -> Result<(), Faults> {
        let is_new = self.seen.insert(path.clone());
        if is_new { Ok(()) } else { Err(vec![format!("{path}: it is in the patch twice")]) }
    }

    fn create(
        &mut self,
        path: Inside,
        base: Option<&WholeText>,
        hunks: &[Hunk<'_, str>],
        how: &str,
    ) -> Result<Inside, Faults> {
        self.first(&path)?;
        self.refuse_present(&path)?;
        let Fitted { text, remarks } = self.fitted(&path, base.map_or("", WholeText::text), hunks)?;
        let content = match base {
            Some(base) => base.written(&path, text).map_err(|error| vec![error.to_string()])?,
            None => text.into_bytes(),
        };
        self.take(&path, content.len())?;
        self.tell(&path, how, &remarks);
        self.plan.steps.push(Step::Write { path: path.clone(), content, expect: Expect::Absent });
        Ok(path)
    }

    /// A copy has the encoding of what it is copied from, and may be run if that may.
    fn copy(&mut self, from: &Inside, to: Inside, hunks: &[Hunk<'_, str>]) -> Result<Inside, Faults> {
        let text = self.read(from)?;
        let to = self.create(to, Some(&text), hunks, &format!("copied from {from}"))?;
        let fault = |error: &dyn std::fmt::Display| vec![format!("{from}: {error}")];
        let (file, _) = self.files.open_read(from).map_err(|error| fault(&error))?;
        let mode = file.metadata().map_err(|error| fault(&error))?.permissions().mode();
        if mode & 0o111 != 0 {
            self.plan.steps.push(Step::Mode { path: to.clone(), is_executable: true });
        }
        Ok(to)
    }

    fn refuse_present(&self, path: &Inside) -> Result<(), Faults> {
        match self.files.open_read(path) {
            Err(FileError::NotFound(_) | FileError::NotAFolder(_)) => Ok(()),
            Err(error) => Err(vec![format!("{path}: {error}")]),
            Ok(_) => Err(vec![format!("{path}: the patch adds it, and it is there already")]),
        }
    }

    fn refuse_absent(&self, path: &Inside) -> Result<(), Faults> {
        self.files.open_read(path).map(drop).map_err(|error| vec![format!("{path}: {error}")])
    }

    fn delete(&mut self, path: Inside, hunks: &[Hunk<'_, str>]) -> Result<Inside, Faults> {
        self.first(&path)?;
        let text = self.read(&path)?;
        let Fitted { text: left, .. } = self.fitted(&path, text.text(), hunks)?;
        if !left.is_empty() {
            return Err(vec![format!(
                "{path}: the patch deletes it, and it has more in it than the patch says"
            )]);
        }
        self.tell(&path, "deleted", &[]);
        self.plan.steps.push(Step::Delete { path: path.clone() });
        Ok(path)
    }

    fn rename(&mut self, from: Inside, to: Inside, hunks: &[Hunk<'_, str>]) -> Result<Inside, Faults> {
        self.first(&from)?;
        self.refuse_absent(&from)?;
        self.refuse_present(&to)?;
        self.plan.steps.push(Step::Move { from: from.clone(), to: to.clone() });
        if hunks.is_empty() {
            self.first(&to)?;
            self.tell(&to, &format!("renamed from {from}"), &[]);
            return Ok(to);
        }
        let how = format!("renamed from {from} and changed");
        self.change(from, to, hunks, how)
    }

    /// Changes what is at `from` now and will be at `to`.
    fn change(
        &mut self,
        from: Inside,
        to: Inside,
        hunks: &[Hunk<'_, str>],
        how: String,
    ) -> Result<Inside, Faults> {
        self.first(&to)?;
        if hunks.is_empty() {
            self.refuse_absent(&from)?;
            self.tell(&to, &how, &[]);
            return Ok(to);
        }
        let text = self.read(&from)?;
        let Fitted { text: new, remarks } = self.fitted(&from, text.text(), hunks)?;
        let content = text.written(&to, new).map_err(|error| vec![error.to_string()])?;
        self.take(&to, content.len())?;
        self.tell(&to, &how, &remarks);
        self.plan.steps.push(Step::Write { path: to.clone(), content, expect: text.expected() });
        Ok(to)
    }

    fn fitted(&self, path: &Inside, text: &str, hunks: &[Hunk<'_, str>]) -> Result<Fitted, Faults> {
        let has_crlf = !self.has_cr && has_crlf_alone(text);
        let base = if has_crlf { text.replace("\r\n", "\n") } else { text.to_owned() };
        let named =
            |faults: Faults| faults.iter().map(|fault| format!("{path}: {fault}")).collect::<Faults>();
        let fitted = fit(&base, hunks, self.fuzz, self.looking).map_err(named)?;
        let text = if has_crlf { fitted.text.replace('\n', "\r\n") } else { fitted.text };
        Ok(Fitted { text, ..fitted })
    }

    fn tell(&mut self, path: &Inside, how: &str, remarks: &[String]) {
        let remarks: String = remarks.iter().map(|remark| format!("; {remark}")).collect();
        self.plan.told.push((path.to_string(), format!("{how}{remarks}")));
    }
}
