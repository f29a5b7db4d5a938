//! How the release program is linked: its relocations are packed, which makes it smaller in memory.

#![expect(clippy::disallowed_methods, reason = "a build script reads cargo's variables and speaks to cargo")]

use std::process::Command;

/// The first glibc that reads packed relocations.
const GLIBC_PACKED: (u32, u32) = (2, 36);

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let is_gnu = variable("CARGO_CFG_TARGET_OS") == "linux" && variable("CARGO_CFG_TARGET_ENV") == "gnu";
    let is_native_release = variable("PROFILE") == "release" && variable("HOST") == variable("TARGET");
    if is_gnu && is_native_release && glibc().is_some_and(|found| found >= GLIBC_PACKED) {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this machine's glibc, on which the program will run at least.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}
