//! Answers every `POST` with its own body: what HTTP over loopback costs anyone. `--port N`.

fn main() -> std::io::Result<()> {
    let port = floor::argument::number("--port").ok_or(std::io::ErrorKind::InvalidInput)?;
    floor::http_loop::serve(port, |body, output| output.extend_from_slice(body))
}
