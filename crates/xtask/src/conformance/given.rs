//! What every run is given, and where its fixtures lie.

use std::path::PathBuf;

use crate::checkout::Checkout;
use crate::install::Suites;

/// What every run is given.
pub(super) struct Given<'a> {
    pub(super) checkout: &'a Checkout,
    pub(super) suites: Suites,
    /// The program under test.
    pub(super) program: PathBuf,
    /// Whether the suites speak to the fixture itself, to show that it is right.
    pub(super) direct: bool,
}

/// A script of `e2e/fixtures/conformance`.
pub(super) fn fixture(checkout: &Checkout, script: &str) -> PathBuf {
    checkout.root.join("e2e").join("fixtures").join("conformance").join(script)
}
