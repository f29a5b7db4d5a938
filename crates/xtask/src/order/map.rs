//! The linker's map: which piece of code lies where, under a name that outlives the build.

use std::collections::BTreeSet;

/// One function's code in the program.
pub(super) struct Section {
    /// Its first address.
    pub(super) start: u64,
    /// Its length in bytes.
    pub(super) length: u64,
    pub(super) name: Name,
}

/// What is written of a function.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name {
    /// The crate that it was compiled in; `NAME.rlib` for C.
    pub(super) from: String,
    /// The section, with `*` in place of hashes.
    pub(super) section: String,
}

/// The pieces of code in a map as lld writes it, by address.
pub(super) fn sections(map: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = map.lines().filter_map(section).collect();
    sections.sort_by_key(|section| section.start);
    sections
}

/// `VMA LMA Size Align FILE:(SECTION)`, the numbers but the last hexadecimal.
fn section(line: &str) -> Option<Section> {
    let (file, section) = line.strip_suffix(')')?.split_once(":(.text.")?;
    let mut words = file.split_whitespace();
    let start = u64::from_str_radix(words.next()?, 16).ok()?;
    let length = u64::from_str_radix(words.nth(1)?, 16).ok()?;
    let from = object(file.rsplit('/').next()?)?;
    (length > 0).then(|| Section { start, length, name: Name { from, section: nameless(section) } })
}

/// Of `….CRATE.HASH-cgu.0.rcgu.o` the crate, of `libCRATE-HASH.rlib` the crate's archive.
fn object(file: &str) -> Option<String> {
    if let Some((before, _)) = file.split_once("-cgu.") {
        return Some(before.rsplit('.').nth(1)?.to_owned());
    }
    let (archive, _) = file.strip_prefix("lib")?.split_once(".rlib")?;
    Some(format!("{}.rlib", archive.rsplit_once('-')?.0))
}

/// The section's whole name without what another build calls otherwise: the hash that ends a name, the number of a copy,
/// and in names of the newer kind the crates' hashes.
fn nameless(section: &str) -> String {
    const HASH: &str = "17h";
    let name = section.split(".llvm.").next().unwrap_or(section);
    let place = name.rfind(HASH).filter(|place| name.len() == place + HASH.len() + 17 && name.ends_with('E'));
    let mut name = match place {
        Some(place) => format!(".text.{}{HASH}*E", &name[..place]),
        None => format!(".text.{name}"),
    };
    if name.contains("._R") {
        let mut parts = name.split("Cs");
        let mut whole = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            // `Cs`, a number with base 62, `_`, the crate's name.
            match part
                .split_once('_')
                .filter(|(hash, _)| hash.bytes().all(|byte| byte.is_ascii_alphanumeric()))
            {
                Some((_, rest)) => whole += &format!("Cs*_{rest}"),
                None => whole += &format!("Cs{part}"),
            }
        }
        name = whole;
    }
    name
}

/// The places of those sections that have one of `addresses` in them.
pub(super) fn containing(sections: &[Section], addresses: &BTreeSet<u64>) -> Vec<usize> {
    let has_run =
        |section: &Section| addresses.range(section.start..section.start + section.length).next().is_some();
    (0..sections.len()).filter(|&place| has_run(&sections[place])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_map_are_read() {
        let map = "             VMA              LMA     Size Align Out     In      Symbol\n\
          5d2780           5d2780       2a    16 .text\n\
          5d2790           5d2790       1f    16         /t/toolcrib-c82e.gate-6e6d.gate.4d15-cgu.0.rcgu.o.rcgu.o:(.text._ZN4gate3run17h0123456789abcdefE.llvm.77)\n\
          5d2790           5d2790       1f     1                 gate::run\n\
          5d2700           5d2700       10    16         /t/rustcX/liblibsqlite3_sys-eff8.rlib(a.o):(.text.sqlite3Get)\n\
          5d2800           5d2800       10    16         /t/x.std-1.std.ab-cgu.0.rcgu.o:(.text.unlikely._RNvCsjr9_3std4main)\n\
          5d2810           5d2810        0    16         /t/x.std-1.std.ab-cgu.0.rcgu.o:(.text.nothing)\n\
          5d2810           5d2810       10    16         /usr/lib/crt1.o:(.text)\n";
        let sections = sections(map);
        let names: Vec<String> =
            sections.iter().map(|found| format!("{} {}", found.name.from, found.name.section)).collect();
        assert_eq!(
            names,
            [
                "libsqlite3_sys.rlib .text.sqlite3Get",
                "gate .text._ZN4gate3run17h*E",
                "std .text.unlikely._RNvCs*_3std4main"
            ]
        );
        assert_eq!(containing(&sections, &BTreeSet::from([0x5d_27ae, 0x5d_27af, 0x5d_280f])), [1, 2]);
    }
}
