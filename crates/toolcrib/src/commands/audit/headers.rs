//! The headers that a collector of logs wants, from a file that is named on the command line.
#![expect(clippy::disallowed_methods, reason = "the file with the headers is named on the command line")]

use std::path::Path;

use http::{HeaderMap, HeaderName, HeaderValue};

/// Reads `Name: value` lines. A value is a secret as a rule, so no error shows one.
///
/// # Errors
/// The file cannot be read, or a line is none; as a sentence.
pub(super) fn read(path: &Path) -> Result<HeaderMap, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("--headers: {} cannot be read: {error}", path.display()))?;
    let mut headers = HeaderMap::new();
    for (nth, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = || format!("--headers: line {} of {} is not `Name: value`", nth + 1, path.display());
        let (name, value) = line.split_once(':').ok_or_else(wrong)?;
        let name: HeaderName = name.trim().parse().map_err(|_| wrong())?;
        let mut value: HeaderValue = value.trim().parse().map_err(|_| wrong())?;
        value.set_sensitive(true);
        headers.append(name, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_header_is_named_without_its_value() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let check = |text: &str, expected: Result<usize, &str>| {
            std::fs::write(file.path(), text).expect("a file");
            let place = file.path().display().to_string();
            let headers = read(file.path()).map(|headers| headers.len());
            let headers = headers.map_err(|error| error.replace(&place, "FILE"));
            assert_eq!(headers, expected.map_err(str::to_owned), "{text}");
        };
        check("Authorization: Bearer planted\n\nX-Scope: 1\n", Ok(2));
        check("A: 1\nplanted", Err("--headers: line 2 of FILE is not `Name: value`"));
        check("a b: planted", Err("--headers: line 1 of FILE is not `Name: value`"));
    }
}
