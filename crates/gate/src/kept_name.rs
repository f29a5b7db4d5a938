//! A name as the audit log keeps it.

use std::sync::Arc;

use redact::Redactor;

/// As much of a name as the audit log keeps. What is longer is struck first: of a secret at the end the beginning would be
/// left, which nobody could tell as one.
pub(crate) fn kept_of(name: &str, redactor: &Redactor) -> Arc<str> {
    if name.len() <= audit::TEXT_BYTES_MAX {
        return name.into();
    }
    let clean = redactor.text(name);
    clean[..clean.floor_char_boundary(audit::TEXT_BYTES_MAX)].into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_keeps_no_beginning_of_a_secret() {
        let redactor = Redactor::new(&redact::Config { patterns: false, ..redact::Config::default() });
        redactor.know("store", vec![redact::Known { name: "A".into(), value: "planted-s3cret".into() }]);
        for before in 200..audit::TEXT_BYTES_MAX {
            let name = format!("{}planted-s3cret{}", "n".repeat(before), "m".repeat(80));
            let kept = kept_of(&name, &redactor);
            assert!(!kept.contains("plan") && kept.len() <= audit::TEXT_BYTES_MAX, "{kept}");
        }
        assert_eq!(&*kept_of("short", &redactor), "short");
    }
}
