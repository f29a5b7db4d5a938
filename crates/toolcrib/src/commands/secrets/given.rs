//! Where a value comes from: the keyboard, without being shown, or whatever is piped in. Never the command line, which
//! everybody on the machine can read.

use std::io::{self, IsTerminal as _, Read};
use std::os::fd::AsFd as _;

use store::SecretValue;
use terminal::{Trouble, unseen};

/// More than the longest value takes, in bytes.
const INPUT_BYTES_MAX: usize = 4 * 4096 + 2;

/// The value of the secret of this name; none if nothing was typed or piped in and that `may_stay` as it is.
pub(super) fn value(name: &str, may_stay: bool) -> Result<Option<SecretValue>, Trouble> {
    let input = io::stdin();
    let text = match input.is_terminal() {
        true => {
            let question = format!("Value of {name} (it is not shown):");
            let typed = unseen::ask(input.as_fd(), &mut input.lock(), &question, INPUT_BYTES_MAX)?;
            typed.ok_or_else(|| Trouble::Misused("nothing was set".to_owned()))?
        }
        false => piped(&mut input.lock())?,
    };
    if text.is_empty() && may_stay {
        return Ok(None);
    }
    SecretValue::parse(&text).map(Some).map_err(|error| Trouble::Misused(error.to_string()))
}

/// What is piped in, without the line break that `echo` and editors put behind it.
fn piped(input: &mut dyn Read) -> Result<String, Trouble> {
    let mut bytes = Vec::new();
    let read = input.take(INPUT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| Trouble::Failed(format!("the value cannot be read from standard input: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|_| {
        Trouble::Misused("the value is no text in UTF-8; encode it first, with base64 for example".to_owned())
    })?;
    let line = text.strip_suffix('\n').map_or(text.as_str(), |line| line.strip_suffix('\r').unwrap_or(line));
    Ok(line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_break_behind_a_value_is_no_part_of_it() {
        for (input, expected) in [
            ("v", "v"),
            ("v\n", "v"),
            ("v\r\n", "v"),
            ("v\n\n", "v\n"),
            ("a\nb\n", "a\nb"),
            ("", ""),
            (" v ", " v "),
        ] {
            assert_eq!(piped(&mut input.as_bytes()).expect("text"), expected, "{input:?}");
        }
        let error = piped(&mut &[0xff_u8, 0xfe][..]).expect_err("no text");
        assert!(error.to_string().starts_with("the value is no text in UTF-8"), "{error}");
        let long = vec![b'x'; 100_000];
        let text = piped(&mut long.as_slice()).expect("text");
        assert!(SecretValue::parse(&text).is_err(), "what was cut is not kept");
    }
}
