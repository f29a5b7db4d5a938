//! What the `[redaction]` section lets stand although it looks like a secret.

use std::collections::HashSet;

use regex_automata::meta::Regex;

/// Most memory that an expression of `allow` may take when it is compiled, in bytes.
const ALLOW_BYTES_MAX: usize = 1024 * 1024;

/// What is not struck out although a rule fits.
#[derive(Default)]
pub(crate) struct Filter {
    disabled: HashSet<String>,
    allowed: Vec<Regex>,
}

impl Filter {
    /// Of the kinds that are not looked for, and of expressions for what stays. One that cannot be read allows nothing.
    pub(crate) fn new(disabled: &[String], allowed: &[String]) -> Filter {
        let allowed = allowed.iter().filter_map(|text| Filter::expression(text).ok()).collect();
        Filter { disabled: disabled.iter().cloned().collect(), allowed }
    }

    /// The expression that fits what `text` fits as a whole.
    ///
    /// # Errors
    /// Why it is none.
    pub(crate) fn expression(text: &str) -> Result<Regex, String> {
        // Alone first, so that no bracket of it closes ours.
        compiled(text)?;
        compiled(&format!("^(?:{text})$"))
    }

    /// True if what rule `id` found is left as it is.
    pub(crate) fn lets_stand(&self, id: &str, secret: &[u8]) -> bool {
        self.disabled.contains(id) || self.allowed.iter().any(|allowed| allowed.is_match(secret))
    }
}

fn compiled(text: &str) -> Result<Regex, String> {
    let limits = Regex::config().nfa_size_limit(Some(ALLOW_BYTES_MAX));
    let syntax = regex_automata::util::syntax::Config::new().unicode(false).utf8(false);
    let built = Regex::builder().configure(limits).syntax(syntax).build(text);
    built.map_err(|error| match error.syntax_error() {
        // Before that it draws the place.
        Some(error) => match error.to_string().lines().last() {
            Some(last) => last.trim_start_matches("error: ").to_owned(),
            None => error.to_string(),
        },
        None => error.to_string(),
    })
}
