//! `cargo xtask package`: the program as people install it, made from one build of it: a tarball, a Debian package, an npm
//! package, a wheel, and the folder that the container file builds from. Each is tried before it is called made.

mod contents;
mod forms;
mod parcel;
mod trial;

use std::path::PathBuf;

use anyhow::Context as _;

use crate::checkout::Checkout;
use crate::install;
use crate::program::{build, build_static};
use parcel::Package;

/// All packages of a static build that is optimised fully.
pub(crate) fn run(checkout: &Checkout, _: &[String]) -> anyhow::Result<()> {
    install::musl(checkout.system)?;
    let made = make(checkout, build_static(checkout)?)?;
    made.iter().for_each(|package| println!("{}", package.display()));
    Ok(())
}

/// The same of the build that the tests use: whether the packages are sound, but for what a static build is.
pub(crate) fn check(checkout: &Checkout) -> anyhow::Result<()> {
    make(checkout, build(checkout)?).map(drop)
}

fn make(checkout: &Checkout, binary: PathBuf) -> anyhow::Result<Vec<PathBuf>> {
    let folder = checkout.target.join("package");
    // What an earlier version left must not be taken for this one's.
    if folder.exists() {
        std::fs::remove_dir_all(&folder).context("the folder of packages cannot be emptied")?;
    }
    let package =
        Package { checkout, binary, root: folder.join("root"), folder, version: env!("CARGO_PKG_VERSION") };
    contents::lay_out(&package)?;
    let made = forms::all(&package)?;
    trial::all(&package, &made)?;
    Ok(made.to_vec())
}
