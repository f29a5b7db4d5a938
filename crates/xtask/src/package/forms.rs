//! The forms of a package, each made by the tool of those who read it.

use std::env::consts::ARCH;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use serde_json::json;

use super::contents::kib;
use super::parcel::{Package, write};
use crate::install;

/// What a machine is called by Debian, npm and Python. A static program runs with any C library.
const MACHINES: [(&str, &str, &str, &str); 2] = [
    ("x86_64", "amd64", "x64", "py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64"),
    ("aarch64", "arm64", "arm64", "py3-none-manylinux_2_17_aarch64.musllinux_1_1_aarch64"),
];

const ABOUT: &str = "One gate between AI agents and their tools";

/// The tarball, the Debian package, the npm package and the wheel.
pub(super) fn all(package: &Package<'_>) -> anyhow::Result<[PathBuf; 4]> {
    let Some((_, debian, npm, wheel)) = MACHINES.iter().find(|(arch, ..)| *arch == ARCH) else {
        bail!("no package is known for a machine of the kind {ARCH}");
    };
    Ok([tarball(package)?, deb(package, debian)?, npm_package(package, npm)?, wheel_of(package, wheel)?])
}

fn tarball(package: &Package<'_>) -> anyhow::Result<PathBuf> {
    let name = format!("toolcrib-{}-{ARCH}-linux", package.version);
    let file = format!("{name}.tar.gz");
    let rename = format!("--transform=s,^usr,{name},");
    let words = ["--create", "--gzip", "--file", &file, "--directory", "root", "--sort=name", &rename, "usr"];
    package.capture("tar", &[&words[..], &["--owner=0", "--group=0", "--numeric-owner"]].concat())?;
    Ok(package.folder.join(file))
}

fn deb(package: &Package<'_>, machine: &str) -> anyhow::Result<PathBuf> {
    let file = format!("toolcrib_{}_{machine}.deb", package.version);
    let control = format!(
        "Package: toolcrib\nVersion: {}\nArchitecture: {machine}\nMaintainer: The Toolcrib founders <founders@toolcrib.invalid>\n\
         Installed-Size: {}\nSection: utils\nPriority: optional\nDescription: {ABOUT}\n",
        package.version,
        kib(&package.root)?
    );
    // Beside the others, which must not have it.
    let tree = package.below("deb")?;
    package.capture("cp", &["--recursive", "root/usr", "deb"])?;
    write(&tree.join("DEBIAN/control"), control.as_bytes())?;
    package.capture("dpkg-deb", &["--build", "--root-owner-group", "deb", &file])?;
    Ok(package.folder.join(file))
}

fn npm_package(package: &Package<'_>, machine: &str) -> anyhow::Result<PathBuf> {
    let tree = package.below("npm")?;
    let about = json!({
        "name": "toolcrib",
        "version": package.version,
        "description": ABOUT,
        "license": "Apache-2.0",
        "bin": { "toolcrib": "toolcrib" },
        "os": ["linux"],
        "cpu": [machine],
        "files": ["toolcrib"],
    });
    write(&tree.join("package.json"), serde_json::to_string_pretty(&about)?.as_bytes())?;
    for (from, to) in [("bin/toolcrib", "toolcrib"), ("share/doc/toolcrib/README.md", "README.md")] {
        fs::copy(package.root.join("usr").join(from), tree.join(to))
            .context("the npm package lacks a file")?;
    }
    package.capture("npm", &["pack", "./npm"])?;
    Ok(package.folder.join(format!("toolcrib-{}.tgz", package.version)))
}

fn wheel_of(package: &Package<'_>, tags: &str) -> anyhow::Result<PathBuf> {
    let script = package.checkout.root.join("packaging/wheel.py").display().to_string();
    let words = [
        &script,
        "root/usr/bin/toolcrib",
        "root/usr/share/doc/toolcrib/README.md",
        package.version,
        tags,
        ".",
    ];
    let made = package.capture(install::PYTHON, &words)?;
    Ok(package.folder.join(made.trim()))
}
