//! What the cases below `e2e/long` run with beside the kit: other people's client libraries and servers, well over a
//! gigabyte of them, so that only `cargo xtask long` installs them.

use std::path::PathBuf;

use super::{Kit, npm, packages, python};
use crate::checkout::Checkout;

/// Other people's libraries and servers.
pub struct ExtendedKit {
    /// The `node_modules` folder with those from npm.
    pub npm: PathBuf,
    /// The interpreter with those from PyPI that need version 1 of the protocol's SDK.
    pub python: PathBuf,
    /// The same for version 2: one environment cannot have both.
    pub python_sdk_v2: PathBuf,
}

/// Installs what `e2e/packages/long` names.
pub fn extended_kit(checkout: &Checkout, kit: &Kit) -> anyhow::Result<ExtendedKit> {
    let wanted = packages(checkout).join("long");
    let folder = |name: &str| checkout.cache().join(name);
    Ok(ExtendedKit {
        npm: npm(&folder("long-npm"), &kit.node, &wanted)?,
        python: python(&folder("long-python"), &wanted.join("requirements.txt"))?,
        python_sdk_v2: python(
            &folder("long-python-sdk-v2"),
            &wanted.join("sdk_v2").join("requirements.txt"),
        )?,
    })
}
