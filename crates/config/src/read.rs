//! From the text of the files to one tree, and from the tree to the sections' types.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_path_to_error::{Path, Segment};
use toml::de::DeTable;

use crate::check;
use crate::consent::Consent;
use crate::file::File;
use crate::find::declaring_folder;
use crate::folder::{FolderFile, Folders};
use crate::problem::{Problem, Source, spot};
use crate::secret;
use crate::surroundings::Surroundings;
use crate::syntax;
use crate::tree::{Member, Node, Written};

/// The one table of the file whose members are parts of their own: a mistake in one server's table must not
/// hide those in another's.
const SERVERS: &str = "mcp";

/// The files as one tree, and what is not in it of what the folders' files say.
#[derive(Debug)]
pub(crate) struct Read {
    pub tree: Node,
    pub folders: Folders,
}

/// The files as one tree: the user's, or the one that was named, and over it the folder's as far as it may be. Everything
/// in them that is no TOML is an error.
pub(crate) fn tree(
    sources: &[Source],
    surroundings: &Surroundings,
    consent: &Consent,
) -> Result<Read, Vec<Problem>> {
    let users = users(sources)?;
    let mut read = Read { tree: users.clone(), folders: Folders::default() };
    for (nth, source) in sources.iter().enumerate().filter(|(_, source)| source.is_projects) {
        let folder = declaring_folder(source, surroundings);
        let spot = |place| spot(sources, place).unwrap_or_default();
        let consent = consent.of_folder(&folder);
        let file = FolderFile { folder: &folder, spot: &spot, consent: &consent };
        read.tree = read.folders.lay(read.tree, &users, parsed(nth, source)?, &file);
    }
    read.folders.passed_over.sort();
    read.folders.passed_over.dedup();
    Ok(read)
}

/// What the user's file says, or the one that was named.
pub(crate) fn users(sources: &[Source]) -> Result<Node, Vec<Problem>> {
    let mut tree = Node::nothing();
    for (nth, source) in sources.iter().enumerate().filter(|(_, source)| !source.is_projects) {
        tree = tree.overlaid(parsed(nth, source)?);
    }
    Ok(tree)
}

/// The same, with what can be read of a file that is no TOML.
pub(crate) fn legible(sources: &[Source]) -> Node {
    let own = sources.iter().enumerate().filter(|(_, source)| !source.is_projects);
    own.fold(Node::nothing(), |tree, (nth, source)| {
        tree.overlaid(Node::of(nth, &DeTable::parse_recoverable(&source.text).0))
    })
}

/// What a file says by itself, if it is TOML.
pub(crate) fn written(source: &Source) -> Option<Node> {
    parsed(0, source).ok()
}

fn parsed(file: usize, source: &Source) -> Result<Node, Vec<Problem>> {
    let (table, errors) = DeTable::parse_recoverable(&source.text);
    if errors.is_empty() {
        return Ok(Node::of(file, &table));
    }
    Err(syntax::problems(file, &source.text, &errors))
}

/// The JSON Schema of the file.
pub(crate) fn schema() -> Value {
    schemars::schema_for!(File).into()
}

/// The tree as the sections' own types, and everything in it that does not fit them. Parts that do not fit
/// are left out of the file, so that the rest can be looked at more closely.
pub(crate) fn file(tree: &Node) -> (File, Vec<Problem>) {
    // What no type of ours can hold reads as nothing in JSON, and must not pass for that.
    if let Some(file) = (!tree.has_other()).then(|| serde_json::from_value(tree.to_json()).ok()).flatten() {
        return (file, Vec::new());
    }
    let schema = schema();
    let mut problems = Vec::new();
    let mut sound = Node::nothing();
    for part in parts(tree) {
        match misfits(&schema, &part) {
            none if none.is_empty() => sound = sound.overlaid(part),
            some => problems.extend(some),
        }
    }
    let file = serde_json::from_value(sound.to_json())
        .expect("sound parts fit together: each is a member of its own");
    (file, problems)
}

/// The tree in parts that can be judged one by one.
fn parts(tree: &Node) -> Vec<Node> {
    (tree.table().into_iter().flatten())
        .flat_map(|(name, member)| match &member.node.written {
            Written::Table(servers) if name == SERVERS => {
                let alone = |server| Member { key: member.key, node: with_only(&member.node, server) };
                servers.iter().map(|server| with_only(tree, (name, &alone(server)))).collect()
            }
            _ => vec![with_only(tree, (name, member))],
        })
        .collect()
}

fn with_only(table: &Node, (name, member): (&String, &Member)) -> Node {
    Node { place: table.place, written: Written::Table(BTreeMap::from([(name.clone(), member.clone())])) }
}

/// What the schema says against a part; where it says nothing, what the type says.
fn misfits(schema: &Value, part: &Node) -> Vec<Problem> {
    let problems = check::check(schema, part);
    if !problems.is_empty() {
        return problems;
    }
    let typed: Result<File, _> = serde_path_to_error::deserialize(part.to_json());
    typed.err().map(|refusal| beyond_the_schema(part, &refusal)).into_iter().collect()
}

/// A type is stricter than its schema: all that is known is its own word.
fn beyond_the_schema(tree: &Node, refusal: &serde_path_to_error::Error<serde_json::Error>) -> Problem {
    let keys = keys(refusal.path());
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let place = tree.place_of(keys.iter().copied());
    if secret::is_secret(&keys) {
        return Problem::at(place, format!("{} cannot be used", keys.join(".")));
    }
    Problem::at(place, format!("{}: {}", keys.join("."), refusal.inner()))
}

fn keys(path: &Path) -> Vec<String> {
    let key = |segment: &Segment| match segment {
        Segment::Map { key } => Some(key.clone()),
        Segment::Seq { index } => Some(index.to_string()),
        Segment::Enum { .. } | Segment::Unknown => None,
    };
    path.iter().filter_map(key).collect()
}
