//! Where a value comes from: the keyboard, without being shown, or whatever is piped in. Never the command line, which
//! everybody on the machine can read.

use std::io::{self, ErrorKind, IsTerminal as _, Read};

use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use store::SecretValue;

use crate::ending::Trouble;
use crate::print;

/// More than the longest value takes, in bytes.
const INPUT_BYTES_MAX: u64 = 4 * 4096 + 2;

/// Keys that mean something while a value is typed.
const END: u8 = 0x04;
const INTERRUPT: u8 = 0x03;
const ERASE: [u8; 2] = [0x08, 0x7f];
const ERASE_ALL: u8 = 0x15;

/// The value of the secret of this name; none if nothing was typed or piped in and that `may_stay` as it is.
pub(super) fn value(name: &str, may_stay: bool) -> Result<Option<SecretValue>, Trouble> {
    let input = io::stdin();
    let text = match input.is_terminal() {
        true => typed(name)?.ok_or_else(|| Trouble::Misused("nothing was set".to_owned()))?,
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
    let read = input.take(INPUT_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| Trouble::Failed(format!("the value cannot be read from standard input: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|_| {
        Trouble::Misused("the value is no text in UTF-8; encode it first, with base64 for example".to_owned())
    })?;
    let line = text.strip_suffix('\n').map_or(text.as_str(), |line| line.strip_suffix('\r').unwrap_or(line));
    Ok(line.to_owned())
}

/// What somebody types, or nothing if they would rather not.
fn typed(name: &str) -> Result<Option<String>, Trouble> {
    let silent = Silent::begin()?;
    print::question(&format!("Value of {name} (it is not shown):"));
    let answer = line(&mut io::stdin().lock());
    drop(silent);
    print::remark("");
    let bytes = answer?;
    let text = bytes.map(String::from_utf8).transpose();
    text.map_err(|_| Trouble::Misused("the value is no text in UTF-8".to_owned()))
}

/// What is typed before the end of the line, key by key; nothing if it is broken off.
fn line(input: &mut dyn Read) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let mut key = [0];
    loop {
        match input.read(&mut key) {
            Ok(0) => return Ok(None),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        match key[0] {
            b'\n' | b'\r' => return Ok(Some(line)),
            INTERRUPT => return Ok(None),
            END if line.is_empty() => return Ok(None),
            END => return Ok(Some(line)),
            ERASE_ALL => line.clear(),
            erase if ERASE.contains(&erase) => {
                // The rest of a character goes with its beginning.
                while line.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
            }
            byte if line.len() as u64 <= INPUT_BYTES_MAX => line.push(byte),
            _ => {}
        }
    }
}

/// The terminal, which shows no keys and leaves them all to us as long as this lives.
struct Silent {
    before: Termios,
}

impl Silent {
    fn begin() -> Result<Silent, Trouble> {
        let cannot = |error| {
            Trouble::Failed(format!("the terminal cannot be kept from showing what is typed: {error}"))
        };
        let before = tcgetattr(io::stdin()).map_err(cannot)?;
        let mut silent = before.clone();
        // Whole lines would be cut at 4095 bytes, and a signal would leave the terminal as it is now.
        silent.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        silent.special_codes[SpecialCodeIndex::VMIN] = 1;
        silent.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(io::stdin(), OptionalActions::Flush, &silent).map_err(cannot)?;
        Ok(Silent { before })
    }
}

impl Drop for Silent {
    fn drop(&mut self) {
        // What was pasted behind the first line is not for the shell. If the terminal is gone, so is the person.
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.before);
    }
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

    #[test]
    fn a_value_is_typed_key_by_key() {
        for (keys, expected) in [
            (&b"abc\rrest"[..], Some("abc")),
            (b"abx\x7fc\n", Some("abc")),
            (b"\x7f\x08a\n", Some("a")),
            ("aä\u{7f}\n".as_bytes(), Some("a")),
            (b"wrong\x15right\n", Some("right")),
            (b"abc\x04", Some("abc")),
            (b"abc\x03", None),
            (b"\x04", None),
            (b"abc", None),
            (b"\n", Some("")),
        ] {
            let typed = line(&mut &*keys).expect("keys").map(|bytes| String::from_utf8(bytes).expect("text"));
            assert_eq!(typed.as_deref(), expected, "{keys:?}");
        }
        let long = [vec![b'x'; 100_000], vec![b'\n']].concat();
        let typed = line(&mut long.as_slice()).expect("keys").expect("a line");
        assert_eq!(typed.len() as u64, INPUT_BYTES_MAX + 1);
    }
}
