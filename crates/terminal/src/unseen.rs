//! What is typed at a terminal without being shown.

use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

use crate::ending::Trouble;
use crate::print;

/// Keys that mean something while a line is typed.
const END: u8 = 0x04;
const INTERRUPT: u8 = 0x03;
const ERASE: [u8; 2] = [0x08, 0x7f];
const ERASE_ALL: u8 = 0x15;

/// Asks at a terminal; what is typed, or nothing if somebody would rather not. Of a line longer than `bytes_max` one byte
/// more than that is kept, so that it is seen to be too long.
pub fn ask(
    terminal: BorrowedFd<'_>,
    input: &mut dyn Read,
    question: &str,
    bytes_max: usize,
) -> Result<Option<String>, Trouble> {
    let silent = Silent::begin(terminal)?;
    print::question(question);
    let answer = line(input, bytes_max);
    drop(silent);
    print::remark("");
    let text = answer?.map(String::from_utf8).transpose();
    text.map_err(|_| Trouble::Misused("what was typed is no text in UTF-8".to_owned()))
}

/// What is typed before the end of the line, key by key; nothing if it is broken off.
fn line(input: &mut dyn Read, bytes_max: usize) -> io::Result<Option<Vec<u8>>> {
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
            byte if line.len() <= bytes_max => line.push(byte),
            _ => {}
        }
    }
}

/// The terminal, which shows no keys and leaves them all to us as long as this lives.
struct Silent<'a> {
    terminal: BorrowedFd<'a>,
    before: Termios,
}

impl Silent<'_> {
    fn begin(terminal: BorrowedFd<'_>) -> Result<Silent<'_>, Trouble> {
        let cannot = |error| {
            Trouble::Failed(format!("the terminal cannot be kept from showing what is typed: {error}"))
        };
        let before = tcgetattr(terminal).map_err(cannot)?;
        let mut silent = before.clone();
        // Whole lines would be cut at 4095 bytes, and a signal would leave the terminal as it is now.
        silent.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        silent.special_codes[SpecialCodeIndex::VMIN] = 1;
        silent.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(terminal, OptionalActions::Flush, &silent).map_err(cannot)?;
        Ok(Silent { terminal, before })
    }
}

impl Drop for Silent<'_> {
    fn drop(&mut self) {
        // What was pasted behind the first line is not for the shell. If the terminal is gone, so is the person.
        let _ = tcsetattr(self.terminal.as_fd(), OptionalActions::Flush, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_typed_key_by_key() {
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
            let typed =
                line(&mut &*keys, 100).expect("keys").map(|bytes| String::from_utf8(bytes).expect("text"));
            assert_eq!(typed.as_deref(), expected, "{keys:?}");
        }
        let long = [vec![b'x'; 100_000], vec![b'\n']].concat();
        let typed = line(&mut long.as_slice(), 100).expect("keys").expect("a line");
        assert_eq!(typed.len(), 101);
    }
}
