//! Bare `read` and `write` on stdin and stdout: what a pipe costs anyone.

fn main() -> std::io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = rustix::io::read(rustix::stdio::stdin(), &mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        floor::stdio_loop::write_all(rustix::stdio::stdout(), &buffer[..count])?;
    }
}
