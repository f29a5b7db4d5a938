//! The least that a gateway must do: takes MCP calls over HTTP, gives each an id of its own, passes it on over pipes or
//! HTTP, and brings the answer back under the caller's id. One thread, epoll, no checks, no record.

use std::collections::HashMap;
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::event::epoll;

use crate::http_loop::{content_length, find, send};
use crate::json_members::{member, with_id};
use crate::stdio_loop::write_all;

/// One read brings at most this much.
const READ_BYTES: usize = 64 * 1024;
/// Events taken from the kernel at once.
const EVENTS_MAX: usize = 256;
/// Places among the events: the listener, the program behind. Clients are even, servers behind them odd.
const LISTENER: u64 = u64::MAX;
const PROGRAM: u64 = u64::MAX - 1;

/// Where calls go.
pub enum Behind {
    /// To this program's pipes; all clients share it.
    Program(String),
    /// To a server on this loopback port; each client has a connection of its own.
    Port(u16),
}

struct Socket {
    stream: TcpStream,
    /// The beginning of a message that has not come whole.
    input: Vec<u8>,
}

struct Program {
    /// Kept so that it is not lost sight of.
    _child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
    input: Vec<u8>,
}

struct Gateway {
    poll: std::os::fd::OwnedFd,
    behind: Behind,
    program: Option<Program>,
    sockets: Vec<Option<Socket>>,
    /// Who waits under which id, and what he called it.
    waiting: HashMap<u64, (usize, Vec<u8>)>,
    last_id: u64,
}

/// Accepts on the loopback `port` until something fails.
pub fn serve(port: u16, behind: Behind) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&poll, &listener, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN)?;
    let program = match &behind {
        Behind::Program(path) => Some(start(path)?),
        Behind::Port(_) => None,
    };
    if let Some(program) = &program {
        let place = epoll::EventData::new_u64(PROGRAM);
        epoll::add(&poll, &program.stdout, place, epoll::EventFlags::IN)?;
    }
    let (sockets, waiting) = (Vec::new(), HashMap::new());
    let mut gateway = Gateway { poll, behind, program, sockets, waiting, last_id: 0 };
    let mut events = Vec::with_capacity(EVENTS_MAX);
    let mut scratch = vec![0; READ_BYTES];
    loop {
        events.clear();
        epoll::wait(&gateway.poll, rustix::buffer::spare_capacity(&mut events), None)?;
        for event in &events {
            match event.data.u64() {
                LISTENER => gateway.accept(&listener)?,
                PROGRAM => gateway.program_says(&mut scratch)?,
                place => gateway.socket_says(place as usize, &mut scratch),
            }
        }
    }
}

fn start(path: &str) -> io::Result<Program> {
    let mut child = Command::new(path).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (Some(stdin), Some(stdout)) = (stdin, stdout) else { return Err(io::ErrorKind::BrokenPipe.into()) };
    Ok(Program { _child: child, stdin, stdout, input: Vec::new() })
}

impl Gateway {
    fn accept(&mut self, listener: &TcpListener) -> io::Result<()> {
        let client = listener.accept()?.0;
        // A program behind leaves the odd place empty.
        let server = match self.behind {
            Behind::Port(port) => Some(TcpStream::connect((Ipv4Addr::LOCALHOST, port))?),
            Behind::Program(_) => None,
        };
        for stream in [Some(client), server] {
            if let Some(stream) = &stream {
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)?;
                let place = epoll::EventData::new_u64(self.sockets.len() as u64);
                epoll::add(&self.poll, stream, place, epoll::EventFlags::IN)?;
            }
            self.sockets.push(stream.map(|stream| Socket { stream, input: Vec::new() }));
        }
        Ok(())
    }

    fn socket_says(&mut self, place: usize, scratch: &mut [u8]) {
        let Some(mut socket) = self.sockets[place].take() else { return };
        let heard = rustix::io::read(&socket.stream, &mut *scratch).map_err(io::Error::from);
        let kept = heard.and_then(|count| match count {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => self.messages(place, &mut socket, &scratch[..count]),
        });
        match kept {
            Ok(()) => self.sockets[place] = Some(socket),
            Err(_) => self.sockets[place ^ 1] = None,
        }
    }

    /// Passes on every whole message that a socket has brought.
    fn messages(&mut self, place: usize, socket: &mut Socket, bytes: &[u8]) -> io::Result<()> {
        socket.input.extend_from_slice(bytes);
        let mut taken = 0;
        while let Some((body, length)) = body(&socket.input[taken..]) {
            match place % 2 {
                0 => self.forward(place, socket, body)?,
                _ => self.bring_back(body)?,
            }
            taken += length;
        }
        socket.input.drain(..taken);
        Ok(())
    }

    /// Gives a call an id of ours and passes it on.
    fn forward(&mut self, place: usize, client: &Socket, call: &[u8]) -> io::Result<()> {
        let Some(id) = member(call, b"id") else {
            send(&client.stream, b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")?;
            return self.pass_on(place, call);
        };
        self.last_id += 1;
        self.waiting.insert(self.last_id, (place, id.to_vec()));
        let call = with_id(call, id, self.last_id.to_string().as_bytes());
        self.pass_on(place, &call)
    }

    fn pass_on(&mut self, place: usize, message: &[u8]) -> io::Result<()> {
        if let Some(program) = &self.program {
            return write_all(&program.stdin, &[message, b"\n"].concat());
        }
        let Some(server) = &self.sockets[place + 1] else { return Err(io::ErrorKind::NotConnected.into()) };
        let mut request = Vec::with_capacity(message.len() + 160);
        write!(
            request,
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n",
            message.len()
        )?;
        request.extend_from_slice(message);
        send(&server.stream, &request)
    }

    fn program_says(&mut self, scratch: &mut [u8]) -> io::Result<()> {
        let Some(program) = &mut self.program else { return Ok(()) };
        let count = rustix::io::read(&program.stdout, &mut *scratch)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        program.input.extend_from_slice(&scratch[..count]);
        let mut input = std::mem::take(&mut program.input);
        let mut taken = 0;
        while let Some(length) = input[taken..].iter().position(|&byte| byte == b'\n') {
            self.bring_back(&input[taken..taken + length])?;
            taken += length + 1;
        }
        input.drain(..taken);
        if let Some(program) = &mut self.program {
            program.input = input;
        }
        Ok(())
    }

    /// Answers the client who waits for this, under its own id.
    fn bring_back(&mut self, answer: &[u8]) -> io::Result<()> {
        let Some(id) = member(answer, b"id") else { return Ok(()) };
        let ours = str::from_utf8(id).ok().and_then(|id| id.parse().ok());
        let Some((place, theirs)) = ours.and_then(|id: u64| self.waiting.remove(&id)) else { return Ok(()) };
        let Some(client) = &self.sockets[place] else { return Ok(()) };
        let body = with_id(answer, id, &theirs);
        let mut response = Vec::with_capacity(body.len() + 96);
        write!(
            response,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        )?;
        response.extend_from_slice(&body);
        send(&client.stream, &response)
    }
}

/// The body of the first HTTP message in `bytes`, and the length of all of it; `None` until it is whole.
fn body(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let head_end = find(bytes, b"\r\n\r\n")?;
    let end = head_end + 4 + content_length(&bytes[..head_end]).unwrap_or(0);
    (bytes.len() >= end).then(|| (&bytes[head_end + 4..end], end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_exchanged_where_it_stands() {
        let call = br#"{"jsonrpc":"2.0","id":"a","method":"ping","params":{"id":1}}"#;
        let id = member(call, b"id").expect("an id");
        let expected = br#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"id":1}}"#;
        assert_eq!(with_id(call, id, b"7"), expected);
    }

    #[test]
    fn a_body_is_taken_when_it_is_whole() {
        let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}rest";
        assert_eq!(body(bytes), Some((&b"{}"[..], bytes.len() - 4)));
        assert_eq!(body(&bytes[..bytes.len() - 5]), None);
    }
}
