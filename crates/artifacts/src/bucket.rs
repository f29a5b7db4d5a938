//! `Bucket`: where artifacts are kept that are kept in an S3-compatible store. Asks nobody.

use std::fmt;

use rusty_s3::{BucketError, Credentials, UrlStyle};
use url::{Host, Url};

/// How the address of a bucket begins.
const SCHEME: &str = "s3://";

/// The longest prefix, in bytes: a key has 1024, and this is one of ours behind it.
const PREFIX_BYTES_MAX: usize = 512;

/// A bucket, the part of it that is ours, and who we are there.
#[derive(Clone)]
pub struct Bucket {
    pub(crate) bucket: rusty_s3::Bucket,
    /// What the key of each object begins with.
    prefix: String,
    /// Nothing where their references were not followed: then nothing is asked.
    pub(crate) keys: Option<Credentials>,
}

/// Shows no key.
impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bucket").field("url", &self.bucket.base_url().as_str()).finish_non_exhaustive()
    }
}

/// What is wrong with it: the key of the configuration, and why.
pub(crate) type Wrong = (&'static str, String);

impl Bucket {
    /// The bucket that `store` names, at Amazon's endpoint of the region or at another's.
    pub(crate) fn parse(store: &str, endpoint: Option<&str>, region: &str) -> Result<Bucket, Wrong> {
        let written = || ("store", "must be written as s3://BUCKET or s3://BUCKET/PREFIX".to_owned());
        let (name, prefix) = store
            .strip_prefix(SCHEME)
            .map(|rest| rest.split_once('/').unwrap_or((rest, "")))
            .ok_or_else(written)?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(written());
        }
        let prefix = prefix.trim_end_matches('/');
        let is_part = |part: &str| !matches!(part, "" | "." | "..") && part.chars().all(is_name);
        if !prefix.is_empty() && !prefix.split('/').all(is_part) || prefix.len() > PREFIX_BYTES_MAX {
            let why = "has a prefix that is no path of letters, digits, dots, dashes and underscores";
            return Err(("store", why.to_owned()));
        }
        if region.is_empty() || !region.chars().all(is_name) {
            return Err(("region", "must be the name of a region, such as us-east-1".to_owned()));
        }
        let (endpoint, style) = match endpoint {
            // Other makers' stores are seldom reached by a host name for each bucket.
            Some(endpoint) => (own(endpoint)?, UrlStyle::Path),
            None => (amazon(region), UrlStyle::VirtualHost),
        };
        let bucket = rusty_s3::Bucket::new(endpoint, style, name.to_owned(), region.to_owned());
        let why = |error: BucketError| ("store", format!("names no bucket that has an address: {error}"));
        Ok(Bucket { bucket: bucket.map_err(why)?, prefix: prefix.to_owned(), keys: None })
    }

    /// The same, asked by these keys.
    #[must_use]
    pub fn asked_by(self, access_key: &str, secret_key: &str) -> Bucket {
        Bucket { keys: Some(Credentials::new(access_key, secret_key)), ..self }
    }

    /// The key of the object with this content.
    pub(crate) fn key_of(&self, sha256: &str) -> String {
        match self.prefix.as_str() {
            "" => sha256.to_owned(),
            prefix => format!("{prefix}/{sha256}"),
        }
    }
}

fn amazon(region: &str) -> Url {
    let endpoint = format!("https://s3.{region}.amazonaws.com");
    endpoint.parse().expect("a region has no character that an address may not have")
}

fn own(endpoint: &str) -> Result<Url, Wrong> {
    let wrong = |why: &str| ("endpoint", why.to_owned());
    let url: Url = endpoint.parse().map_err(|_| wrong("must be an address such as https://s3.example"))?;
    if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err(wrong(
            "must have no user and nothing behind its path; keys belong in access_key and secret_key",
        ));
    }
    let is_here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_here => Ok(url),
        _ => Err(wrong(
            "must begin with https://, or with http:// on this machine: results would lie open on the way",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(store: &str, endpoint: Option<&str>, expected: Result<&str, &str>) {
        let found = Bucket::parse(store, endpoint, "eu-west-1");
        let found = found.map(|bucket| bucket.bucket.object_url(&bucket.key_of("ab")).to_string());
        assert_eq!(found.as_deref().map_err(|(key, _)| *key), expected, "{store} {endpoint:?}");
    }

    #[test]
    fn a_bucket_has_an_address_or_says_which_key_is_wrong() {
        let own = Some("https://s3.example:9000");
        check("s3://logs", None, Ok("https://logs.s3.eu-west-1.amazonaws.com/ab"));
        check("s3://logs/a/b/", None, Ok("https://logs.s3.eu-west-1.amazonaws.com/a/b/ab"));
        check("s3://logs/a", own, Ok("https://s3.example:9000/logs/a/ab"));
        check("s3://logs", Some("http://127.0.0.1:9"), Ok("http://127.0.0.1:9/logs/ab"));
        check("s3://logs", Some("http://[::1]:9/x"), Ok("http://[::1]:9/x/logs/ab"));
        for wrong in
            ["", "logs", "S3://logs", "s3://", "s3:///a", "s3://a b", "s3://a@b", "s3://a/../b", "s3://a//b"]
        {
            check(wrong, own, Err("store"));
        }
        for wrong in [
            "",
            "s3.example",
            "ftp://s3.example",
            "http://s3.example",
            "https://me:pw@s3.example",
            "https://s3.example/?a",
        ] {
            check("s3://logs", Some(wrong), Err("endpoint"));
        }
        let (key, _) = Bucket::parse("s3://logs", None, "a/b").expect_err("no region");
        assert_eq!(key, "region");
        let long = format!("s3://logs/{}", "x".repeat(PREFIX_BYTES_MAX + 1));
        check(&long, None, Err("store"));
    }

    #[test]
    fn no_key_is_shown() {
        let bucket =
            Bucket::parse("s3://logs", None, "eu-west-1").expect("sound").asked_by("AKIA", "planted");
        let shown = format!("{bucket:?}");
        assert!(shown.contains("logs") && !shown.contains("planted") && !shown.contains("AKIA"), "{shown}");
    }
}
