//! The frames of a page that came without what stands in them: how many, and where. A browser puts what it can read of them in
//! their place, and leaves none.

use htmd::Node;

use super::addresses::Addresses;
use super::words::{attribute, name};
use crate::read::Frames;

/// Addresses that are told.
const TOLD_MAX: usize = 5;

/// The longest of them, in bytes.
const ADDRESS_BYTES_MAX: usize = 300;

/// In pixels, each way: a smaller frame has nothing to read.
const EDGE_MIN: usize = 16;

impl Frames {
    /// Takes an element in, which may be one.
    pub(super) fn see(&mut self, node: &Node, addresses: &Addresses) {
        let is_small = |edge: &str| {
            attribute(node, edge)
                .and_then(|said| said.parse::<usize>().ok())
                .is_some_and(|edge| edge < EDGE_MIN)
        };
        let is_frame = matches!(name(node), "iframe" | "frame") && attribute(node, "hidden").is_none();
        if !is_frame || is_small("width") || is_small("height") {
            return;
        }
        let address = attribute(node, "src").and_then(|src| addresses.whole(src.trim()));
        let address = address.filter(|address| address.starts_with("http"));
        let is_written_out = attribute(node, "srcdoc").is_some();
        self.count += usize::from(is_written_out || address.is_some());
        let told = address.filter(|address| !is_written_out && address.len() <= ADDRESS_BYTES_MAX);
        if let Some(address) = told.filter(|address| !self.addresses.contains(address)) {
            self.addresses.push(address);
            self.addresses.truncate(TOLD_MAX);
        }
    }
}
