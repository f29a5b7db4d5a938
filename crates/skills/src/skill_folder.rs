//! One skill: its folder, read whole, and what its content is by its hashes.

use std::path::Path;

use data_encoding::HEXLOWER;
use sandbox::{Access, Folder, Inside, Kind, Root};
use sha2::{Digest as _, Sha256};
use tool_api::{SKILL_FILE, Skill, SkillFile};

use crate::front_matter::{FrontMatter, front_matter};

/// Most bytes of a `SKILL.md`: some 32,000 tokens. Its authors are asked for a tenth of that.
const TEXT_BYTES_MAX: usize = 128 * 1024;

/// Most files of a skill (MCP Skills extension, "Limits").
const FILES_MAX: usize = 512;

/// Most bytes of all of them together (the same).
const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Most entries of all its folders, of whatever kind.
const ENTRIES_MAX: usize = 4_096;

/// Folders below one another.
const DEPTH_MAX: usize = 16;

/// What lies in the folder of a version control system, or in an editor's, is no part of a skill.
fn is_hidden(name: &str) -> bool {
    name.starts_with('.')
}

/// The head of the skill in a folder, without the files beside it. Blocks on the disk.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn head(folder: &Path) -> Result<FrontMatter, String> {
    // One more tells that it is too large.
    let part = opened(folder)?.read(SKILL_FILE, TEXT_BYTES_MAX + 1).map_err(|error| error.to_string())?;
    Ok(understood(part.bytes, folder)?.0)
}

/// The skill in a folder, if all its files together have at most so many bytes, and the bytes of one file beside it if one is
/// `wanted`. Each file is read once: what is said of the skill is what its digest is of. Blocks on the disk.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn read(
    folder: &Path,
    wanted: Option<&str>,
    bytes_max: u64,
) -> Result<(Skill, Option<Vec<u8>>), String> {
    let bytes_max = bytes_max.min(BYTES_MAX);
    let mut walk =
        Walk { files: Vec::new(), entries: 0, bytes: 0, bytes_max, text: None, wanted, found: None };
    walk.below(&opened(folder)?, "", 0)?;
    let text = walk.text.take().ok_or_else(|| format!("it has no {SKILL_FILE} that is a regular file"))?;
    let (head, body) = understood(text, folder)?;
    let digest = digest(&walk.files);
    let skill = Skill {
        is_for_models: head.is_for_models(),
        is_for_people: head.is_for_people(),
        name: head.name.into(),
        description: head.description.into(),
        fields: head.fields,
        body,
        folder: folder.to_owned(),
        files: walk.files,
        sha256: digest,
    };
    Ok((skill, walk.found))
}

fn opened(folder: &Path) -> Result<Folder, String> {
    let root = Root::open(folder, Access::Read).map_err(|error| format!("it cannot be opened: {error}"))?;
    root.folder(&Inside::root()).map_err(|error| error.to_string())
}

/// The head and the instructions of a skill whose name is the folder's.
fn understood(bytes: Vec<u8>, folder: &Path) -> Result<(FrontMatter, String), String> {
    if bytes.len() > TEXT_BYTES_MAX {
        return Err(format!(
            "it is larger than {} KiB; put details into files beside it",
            TEXT_BYTES_MAX / 1024
        ));
    }
    let text = String::from_utf8(bytes).map_err(|_| "it is no text in UTF-8".to_owned())?;
    let (head, body) = front_matter(&text)?;
    match folder.file_name().is_some_and(|name| *name == *head.name) {
        true => Ok((head, body.trim().to_owned())),
        false => Err(format!("name: is `{}`, and must be the name of its folder", head.name)),
    }
}

/// What tells one state of a skill from another: any change of any of its files.
fn digest(files: &[SkillFile]) -> String {
    let mut hash = Sha256::new();
    for file in files {
        // No name has a NUL in it, and a digest has always the same length.
        hash.update(file.path.as_bytes());
        hash.update([0]);
        hash.update(file.sha256.as_bytes());
    }
    HEXLOWER.encode(&hash.finalize())
}

/// A walk through the files of a skill, in the order of their names.
struct Walk<'w> {
    files: Vec<SkillFile>,
    entries: usize,
    bytes: u64,
    bytes_max: u64,
    /// Of the skill's own file.
    text: Option<Vec<u8>>,
    wanted: Option<&'w str>,
    found: Option<Vec<u8>>,
}

impl Walk<'_> {
    fn below(&mut self, folder: &Folder, above: &str, depth: usize) -> Result<(), String> {
        if depth > DEPTH_MAX {
            return Err(format!("its folders are more than {DEPTH_MAX} deep"));
        }
        let entries = folder.entries().map_err(|error| error.to_string())?;
        self.entries += entries.len();
        if self.entries > ENTRIES_MAX {
            return Err(format!("its folders have more than {ENTRIES_MAX} entries"));
        }
        for entry in entries {
            let path = format!("{above}{}", entry.name);
            // A link may lead anywhere, and what has no name in UTF-8 cannot be asked for.
            match entry.kind {
                _ if is_hidden(&entry.name) || !entry.name_is_exact => {}
                Kind::Folder => {
                    let child = folder.child(&entry.name).map_err(|error| error.to_string())?;
                    self.below(&child, &format!("{path}/"), depth + 1)?;
                }
                Kind::File => self.take(folder, &entry.name, path)?,
                Kind::Link | Kind::Other => {}
            }
        }
        Ok(())
    }

    fn take(&mut self, folder: &Folder, name: &str, path: String) -> Result<(), String> {
        let left = self.bytes_max.saturating_sub(self.bytes);
        let part = folder.read(name, left as usize).map_err(|error| format!("{path}: {error}"))?;
        if self.files.len() == FILES_MAX || part.total_bytes > left {
            let mib = self.bytes_max / (1024 * 1024);
            return Err(format!("it has more than {FILES_MAX} files or {mib} MiB"));
        }
        let bytes = part.bytes.len() as u64;
        self.bytes += bytes;
        let sha256 = HEXLOWER.encode(&Sha256::digest(&part.bytes));
        if self.wanted == Some(&*path) {
            self.found = Some(part.bytes.clone());
        }
        if path == SKILL_FILE {
            self.text = Some(part.bytes);
        }
        self.files.push(SkillFile { path, bytes, sha256 });
        Ok(())
    }
}
