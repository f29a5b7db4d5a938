//! Serves HTTP/1.1 on one thread with epoll and keep-alive: one `read`, one `write` for an answer that fits.
//!
//! It knows as much of HTTP as the benchmark sends: `POST` with `Content-Length`. Everything else is 405.

use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsFd;

use rustix::event::epoll;

/// One read brings at most this much.
const READ_BYTES: usize = 64 * 1024;
/// Events taken from the kernel at once.
const EVENTS_MAX: usize = 256;
/// The listener's place among the events; connections are numbered from zero.
const LISTENER: u64 = u64::MAX;

struct Connection {
    stream: TcpStream,
    /// The beginning of a request that has not come whole.
    input: Vec<u8>,
}

/// Accepts on the loopback `port` and answers each body with what `answer` appends; an empty answer becomes 202.
pub fn serve(port: u16, mut answer: impl FnMut(&[u8], &mut Vec<u8>)) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&poll, &listener, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN)?;
    let mut connections: Vec<Option<Connection>> = Vec::new();
    let mut events = Vec::with_capacity(EVENTS_MAX);
    let mut scratch = vec![0; READ_BYTES];
    loop {
        events.clear();
        epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), None)?;
        for event in &events {
            let place = event.data.u64();
            if place == LISTENER {
                accept(&listener, poll.as_fd(), &mut connections)?;
                continue;
            }
            let connection = &mut connections[place as usize];
            if connection.as_mut().is_some_and(|open| step(open, &mut scratch, &mut answer).is_err()) {
                *connection = None;
            }
        }
    }
}

fn accept(
    listener: &TcpListener,
    poll: std::os::fd::BorrowedFd<'_>,
    connections: &mut Vec<Option<Connection>>,
) -> io::Result<()> {
    let (stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    let place = connections.iter().position(Option::is_none).unwrap_or(connections.len());
    epoll::add(poll, &stream, epoll::EventData::new_u64(place as u64), epoll::EventFlags::IN)?;
    let connection = Some(Connection { stream, input: Vec::new() });
    if place == connections.len() {
        connections.push(connection);
    } else {
        connections[place] = connection;
    }
    Ok(())
}

/// Reads what has come, answers every whole request, and writes. An error means that the connection is over.
fn step(
    connection: &mut Connection,
    scratch: &mut [u8],
    answer: &mut impl FnMut(&[u8], &mut Vec<u8>),
) -> io::Result<()> {
    let count = rustix::io::read(&connection.stream, &mut *scratch)?;
    if count == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    connection.input.extend_from_slice(&scratch[..count]);
    let mut output = Vec::new();
    let mut taken = 0;
    while let Some(length) = answer_one(&connection.input[taken..], &mut output, answer)? {
        taken += length;
    }
    connection.input.drain(..taken);
    send(&connection.stream, &output)
}

/// Writes all of `output`; waits for a client that reads slowly, since the benchmark's one client never does.
pub(crate) fn send(stream: &TcpStream, mut output: &[u8]) -> io::Result<()> {
    while !output.is_empty() {
        match rustix::io::write(stream, output) {
            Ok(count) => output = &output[count..],
            Err(rustix::io::Errno::AGAIN) => {
                let mut room = [rustix::event::PollFd::new(stream, rustix::event::PollFlags::OUT)];
                rustix::event::poll(&mut room, None)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Answers the first request in `bytes` and says how long it was; `None` until it is whole.
fn answer_one(
    bytes: &[u8],
    output: &mut Vec<u8>,
    answer: &mut impl FnMut(&[u8], &mut Vec<u8>),
) -> io::Result<Option<usize>> {
    let Some(head_end) = find(bytes, b"\r\n\r\n") else { return Ok(None) };
    let head = &bytes[..head_end];
    let body_length = content_length(head).unwrap_or(0);
    let end = head_end + 4 + body_length;
    if bytes.len() < end {
        return Ok(None);
    }
    if !head.starts_with(b"POST ") {
        output.extend_from_slice(b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n");
        return Ok(Some(end));
    }
    let mut body = Vec::new();
    answer(&bytes[head_end + 4..end], &mut body);
    if body.is_empty() {
        output.extend_from_slice(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
    } else {
        write!(
            output,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        )?;
        output.extend_from_slice(&body);
    }
    Ok(Some(end))
}

pub(crate) fn content_length(head: &[u8]) -> Option<usize> {
    const NAME: &[u8] = b"content-length:";
    let line = head
        .split(|&byte| byte == b'\n')
        .find(|line| line.len() > NAME.len() && line[..NAME.len()].eq_ignore_ascii_case(NAME))?;
    str::from_utf8(&line[NAME.len()..]).ok()?.trim().parse().ok()
}

pub(crate) fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}
