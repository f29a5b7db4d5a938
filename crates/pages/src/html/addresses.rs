//! The addresses in a document, made whole.

use url::{ParseError, Url};

/// The longest address that is shown, in bytes.
const ADDRESS_BYTES_MAX: usize = 2 * 1024;

/// Those of one document.
pub(crate) struct Addresses(Option<Url>);

impl Addresses {
    pub(crate) fn new(base: &str) -> Addresses {
        Addresses(Url::parse(base).ok())
    }

    /// The whole address; as it stands where it cannot be made whole. Nothing for what leads to no page.
    pub(crate) fn whole(&self, address: &str) -> Option<String> {
        if address.len() > ADDRESS_BYTES_MAX {
            return None;
        }
        let whole = match Url::options().base_url(self.0.as_ref()).parse(address) {
            Ok(whole) => whole,
            Err(ParseError::RelativeUrlWithoutBase) => return Some(address.to_owned()),
            Err(_) => return None,
        };
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
        ] {
            assert_eq!(whole(base, address).as_deref(), expected, "{base:.30} {address:.30}");
        }
    }
}
