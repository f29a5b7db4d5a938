//! Serves newline-delimited messages on stdin and stdout: one `read`, one `write` for all it brought.

use std::io;

/// One read brings at most what a pipe holds.
const READ_BYTES: usize = 64 * 1024;

/// Reads lines until the end of input and writes what `answer` appends for each of them.
pub fn serve(mut answer: impl FnMut(&[u8], &mut Vec<u8>)) -> io::Result<()> {
    let (stdin, stdout) = (rustix::stdio::stdin(), rustix::stdio::stdout());
    let mut input = Vec::new();
    let mut filled = 0;
    let mut output = Vec::with_capacity(READ_BYTES);
    loop {
        if input.len() < filled + READ_BYTES {
            input.resize(filled + READ_BYTES, 0);
        }
        let count = rustix::io::read(stdin, &mut input[filled..])?;
        if count == 0 {
            return Ok(());
        }
        filled += count;
        let taken = answer_lines(&input[..filled], &mut output, &mut answer);
        input.copy_within(taken..filled, 0);
        filled -= taken;
        write_all(stdout, &output)?;
        output.clear();
    }
}

/// Answers every whole line and says how many bytes they were.
fn answer_lines(bytes: &[u8], output: &mut Vec<u8>, answer: &mut impl FnMut(&[u8], &mut Vec<u8>)) -> usize {
    let mut taken = 0;
    while let Some(length) = bytes[taken..].iter().position(|&byte| byte == b'\n') {
        let before = output.len();
        answer(&bytes[taken..taken + length], output);
        if output.len() > before {
            output.push(b'\n');
        }
        taken += length + 1;
    }
    taken
}

/// Writes all of `bytes`, in as many system calls as the pipe demands.
pub fn write_all(to: impl std::os::fd::AsFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let count = rustix::io::write(&to, bytes)?;
        bytes = &bytes[count..];
    }
    Ok(())
}
