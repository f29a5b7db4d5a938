//! No circle of imports, and no arrow that runs up, beyond what [`CEILINGS`] still allows.
//!
//! A *circle* is a set of files of one crate that import each other in a loop. A *room* is what lies directly in
//! `src`: a file together with the folder of its name. Rooms stand above what they take from others; an arrow *runs
//! up* if the two rooms are in a circle of rooms, so that neither stands above the other.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use serde::Deserialize;

use super::arrows_inside::{Arrow, arrows};
use super::modules::{self, Words};
use super::tree::{Finding, Source, Tree};

/// What each crate is still allowed. A figure may fall, and then the file is made to say so; none may rise.
const CEILINGS: &str = "crates/xtask/src/tidy/circles.toml";

/// A finding stays readable; the rest shows when these are gone.
const ARROWS_SHOWN_MAX: usize = 12;

/// The figures of one crate. One that is not listed has neither circles nor arrows that run up.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Figures {
    /// Files in the largest circle; 0 without any.
    circle: usize,
    /// Arrows between files of rooms that are in a circle of rooms.
    up: usize,
}

pub(super) fn look(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.files.iter().find(|file| file.path == CEILINGS) else { return Vec::new() };
    let ceilings: BTreeMap<String, Figures> = match toml::from_str(&page.text) {
        Ok(ceilings) => ceilings,
        Err(error) => return vec![page.at(0, error.message())],
    };
    let mut findings = Vec::new();
    for (name, manifest) in tree.manifests() {
        let allowed = ceilings.get(name).copied().unwrap_or_default();
        match measure(tree, name) {
            Ok((figures, told)) => findings.extend(compare(figures, allowed, &told, manifest, page)),
            Err(error) => findings.push(manifest.at(0, format!("not read: {error:#}"))),
        }
    }
    findings
}

fn compare(found: Figures, allowed: Figures, told: &str, manifest: &Source, page: &Source) -> Vec<Finding> {
    let pairs = [("circle", found.circle, allowed.circle), ("up", found.up, allowed.up)];
    let finding = |(what, found, allowed): (&str, usize, usize)| match found.cmp(&allowed) {
        std::cmp::Ordering::Equal => None,
        std::cmp::Ordering::Less => {
            let name = manifest.path.split('/').nth(1).unwrap_or_default();
            Some(page.at(0, format!("`{name}`: `{what}` has fallen from {allowed} to {found}: say so here")))
        }
        std::cmp::Ordering::Greater => {
            Some(manifest.at(0, format!("`{what}` is {found}, of {allowed} at most: {told}")))
        }
    };
    pairs.into_iter().filter_map(finding).collect()
}

/// The figures of a crate, and what makes them up.
fn measure(tree: &Tree, name: &str) -> anyhow::Result<(Figures, String)> {
    let folder = format!("crates/{name}/src/");
    let files: Vec<&Source> = tree.ending(".rs").filter(|file| file.path.starts_with(&folder)).collect();
    let arrows = arrows(&modules::read(&folder, &files)?);
    let circles = circles(arrows.iter().map(|(from, to)| (from.join("/"), to.join("/"))));
    let rooms = self::circles(between_rooms(&arrows).map(|(from, to)| (from[0].clone(), to[0].clone())));
    let runs_up =
        |(from, to): &&Arrow| rooms.iter().any(|circle| circle.contains(&from[0]) && circle.contains(&to[0]));
    let up: Vec<&Arrow> = between_rooms(&arrows).filter(runs_up).collect();
    let shown = circles.iter().max_by_key(|circle| circle.len()).cloned().unwrap_or_default();
    let mut told: Vec<String> = vec![shown.into_iter().collect::<Vec<_>>().join(" ")];
    let shown = up.iter().take(ARROWS_SHOWN_MAX);
    told.extend(shown.map(|(from, to)| format!("{} -> {}", from.join("/"), to.join("/"))));
    let circle = circles.iter().map(BTreeSet::len).max().unwrap_or_default();
    Ok((Figures { circle, up: up.len() }, told.join("; ")))
}

fn between_rooms(arrows: &BTreeSet<Arrow>) -> impl Iterator<Item = &Arrow> {
    let room = |path: &Words| path.first().cloned();
    arrows.iter().filter(move |(from, to)| !from.is_empty() && !to.is_empty() && room(from) != room(to))
}

/// What lies in a circle together, each circle for itself.
fn circles(arrows: impl Iterator<Item = (String, String)>) -> Vec<BTreeSet<String>> {
    let arrows: Vec<(String, String)> = arrows.collect();
    let graph: DiGraphMap<&str, ()> = arrows.iter().map(|(from, to)| (from.as_str(), to.as_str())).collect();
    let groups = tarjan_scc(&graph).into_iter().filter(|group| group.len() > 1);
    groups.map(|group| group.into_iter().map(str::to_owned).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::found;
    use super::*;

    const MANIFEST: (&str, &str) = ("crates/x/Cargo.toml", "");

    fn check(ceilings: &str, a: &str, b: &str, expected: &[&str]) {
        let root = ("crates/x/src/lib.rs", "mod a; mod b;");
        let files =
            [(CEILINGS, ceilings), MANIFEST, root, ("crates/x/src/a.rs", a), ("crates/x/src/b.rs", b)];
        assert_eq!(found(look, &files), expected);
    }

    #[test]
    fn a_circle_is_found_and_a_line_is_not() {
        let (a, b) = ("use crate::b::B; pub struct A(B);", "use crate::a::A; pub struct B(A);");
        check("", a, "pub struct B;", &[]);
        let circle = "crates/x/Cargo.toml: `circle` is 2, of 0 at most: a b; a -> b; b -> a";
        let up = "crates/x/Cargo.toml: `up` is 2, of 0 at most: a b; a -> b; b -> a";
        check("", a, b, &[circle, up]);
        check("x = { circle = 2, up = 2 }", a, b, &[]);
    }

    #[test]
    fn a_ceiling_only_falls() {
        let fallen = format!("{CEILINGS}: `x`: `circle` has fallen from 2 to 0: say so here");
        check("x = { circle = 2 }", "pub struct A;", "pub struct B;", &[&fallen]);
    }

    #[test]
    fn a_circle_inside_a_room_is_no_arrow_that_runs_up() {
        let files = [
            (CEILINGS, "x = { circle = 2 }"),
            MANIFEST,
            ("crates/x/src/lib.rs", "mod a;"),
            ("crates/x/src/a.rs", "mod b; use b::B; pub struct A(B);"),
            ("crates/x/src/a/b.rs", "use super::A; pub struct B(Box<A>);"),
        ];
        assert_eq!(found(look, &files), [""; 0]);
    }
}
