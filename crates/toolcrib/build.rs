//! How the release program is linked: what runs at the start and in calls lies together, and its relocations are packed.
//!
//! The kernel maps a file in pieces of 64 KiB and more around each page that is touched. What runs at the start is a tenth
//! of the code; spread over all of it, it would keep most of the program in memory. `program.order` names those functions
//! without the hashes of one build; it is written by `cargo xtask order`. A function that it does not name, or that is
//! there no longer, only lies elsewhere.

#![expect(
    clippy::disallowed_methods,
    reason = "a build script reads cargo's variables, writes into its folder and speaks to cargo"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// A line for each function: the crate that it is compiled in, or `NAME.rlib` for C of that crate, and its section.
const ORDER: &str = "program.order";

/// Where the linker is to write what it put where, in its own order; `cargo xtask order` asks for it.
const MAP: &str = "TOOLCRIB_LINK_MAP";

/// The first glibc that reads packed relocations.
const GLIBC_PACKED: (u32, u32) = (2, 36);

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={ORDER}");
    println!("cargo:rerun-if-env-changed={MAP}");
    let told = |name: &str| std::env::var(name).unwrap_or_default();
    let is_gnu = told("CARGO_CFG_TARGET_OS") == "linux" && told("CARGO_CFG_TARGET_ENV") == "gnu";
    if !is_gnu || told("PROFILE") != "release" {
        return;
    }
    let map = told(MAP);
    if map.is_empty() {
        let script = PathBuf::from(told("OUT_DIR")).join("order.ld");
        let order = std::fs::read_to_string(Path::new(&told("CARGO_MANIFEST_DIR")).join(ORDER));
        let order = order.expect("the order lies beside this file");
        std::fs::write(&script, linker_script(&order)).expect("a build script may write into its folder");
        link_with(&format!("-T,{}", script.display()));
    } else {
        // Without an order: valgrind knows the code of the usual section only.
        link_with(&format!("-Map={map}"));
    }
    if told("HOST") == told("TARGET") && glibc().is_some_and(|found| found >= GLIBC_PACKED) {
        link_with("-z,pack-relative-relocs");
    }
}

fn link_with(option: &str) {
    println!("cargo:rustc-link-arg-bins=-Wl,{option}");
}

/// What is named goes into a section of its own before all other code. The names of object files are the compiler's:
/// `….CRATE.HASH-cgu.0.rcgu.o`, and the name of a section may go on behind what is written.
fn linker_script(order: &str) -> String {
    let mut script = String::from("SECTIONS { .text.begin : {\n");
    for (from, section) in order.lines().filter_map(|line| line.split_once(' ')) {
        let objects = match from.strip_suffix(".rlib") {
            Some(archive) => format!("*/lib{archive}-*"),
            None => format!("*.{from}.*-cgu.*.rcgu.o"),
        };
        script.push_str(&format!("{objects}({section}*)\n"));
    }
    script + "} } INSERT BEFORE .text;\n"
}

/// The version of this machine's glibc, on which the program will run at least.
fn glibc() -> Option<(u32, u32)> {
    let told = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let told = String::from_utf8(told.stdout).ok()?;
    let (major, minor) = told.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}
