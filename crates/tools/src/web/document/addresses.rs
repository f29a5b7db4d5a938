//! The addresses in a document, made whole as far as that costs little: each may be as long as what it is relative to.

use url::{ParseError, Url};

/// The longest address that others are relative to, in bytes.
const BASE_BYTES_MAX: usize = 8 * 1024;

/// The longest address that is shown, in bytes.
const ADDRESS_BYTES_MAX: usize = 2 * 1024;

/// What all of them may have together, in bytes.
const ALL_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Those of one document.
pub(super) struct Addresses {
    base: Option<Url>,
    bytes_left: usize,
}

impl Addresses {
    pub(super) fn new(base: &str) -> Addresses {
        let base = if base.len() > BASE_BYTES_MAX { None } else { Url::parse(base).ok() };
        Addresses { base, bytes_left: ALL_BYTES_MAX }
    }

    /// The whole address; as it stands where it cannot be made whole. Nothing for what leads to no page.
    pub(super) fn whole(&mut self, address: &str) -> Option<String> {
        if address.len() > ADDRESS_BYTES_MAX {
            return None;
        }
        let base = self.base.as_ref().filter(|_| self.bytes_left > 0);
        let whole = match Url::options().base_url(base).parse(address) {
            Ok(whole) => whole,
            Err(ParseError::RelativeUrlWithoutBase) => return Some(address.to_owned()),
            Err(_) => return None,
        };
        self.bytes_left = self.bytes_left.saturating_sub(whole.as_str().len());
        let is_page = matches!(whole.scheme(), "http" | "https" | "mailto");
        (is_page && whole.as_str().len() <= ADDRESS_BYTES_MAX).then(|| whole.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_made_whole_and_only_short_ones() {
        let whole = |base: &str, address: &str| Addresses::new(base).whole(address);
        let base = |bytes: usize| format!("http://a.test/{}/", "x".repeat(bytes));
        for (base, address, expected) in [
            ("http://a.test/b/c", "../d", Some("http://a.test/d")),
            ("http://a.test/b/c", "javascript:alert(1)", None),
            ("http://a.test/b/c", &"x".repeat(ADDRESS_BYTES_MAX + 1), None),
            ("no address", "d", Some("d")),
            (&base(ADDRESS_BYTES_MAX), "d", None),
            (&base(ADDRESS_BYTES_MAX), "/d", Some("http://a.test/d")),
            (&base(BASE_BYTES_MAX), "/d", Some("/d")),
        ] {
            assert_eq!(whole(base, address).as_deref(), expected, "{base:.30} {address:.30}");
        }
    }

    #[test]
    fn all_of_them_are_only_so_long() {
        let mut addresses = Addresses::new(&format!("http://a.test/{}/", "x".repeat(ADDRESS_BYTES_MAX / 2)));
        let all: usize = (0..100_000).filter_map(|_| addresses.whole("d")).map(|address| address.len()).sum();
        assert!(all < ALL_BYTES_MAX + ADDRESS_BYTES_MAX + 100_000, "{all}");
    }
}
