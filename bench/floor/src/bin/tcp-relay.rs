//! Copies bytes between a client and an upstream without looking at them: what any gateway costs. `--port N --upstream N`.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use rustix::event::epoll;

/// The listener's place among the events; sockets are numbered from zero, in pairs.
const LISTENER: u64 = u64::MAX;
/// Events taken from the kernel at once.
const EVENTS_MAX: usize = 256;

fn main() -> io::Result<()> {
    let port = floor::argument::number("--port").ok_or(io::ErrorKind::InvalidInput)?;
    let upstream = floor::argument::number("--upstream").ok_or(io::ErrorKind::InvalidInput)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&poll, &listener, epoll::EventData::new_u64(LISTENER), epoll::EventFlags::IN)?;
    // Socket `n` and socket `n ^ 1` are the two ends of one path.
    let mut sockets: Vec<Option<TcpStream>> = Vec::new();
    let mut events = Vec::with_capacity(EVENTS_MAX);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        events.clear();
        epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), None)?;
        for event in &events {
            if event.data.u64() == LISTENER {
                for socket in [listener.accept()?.0, TcpStream::connect((Ipv4Addr::LOCALHOST, upstream))?] {
                    socket.set_nodelay(true)?;
                    let place = epoll::EventData::new_u64(sockets.len() as u64);
                    epoll::add(&poll, &socket, place, epoll::EventFlags::IN)?;
                    sockets.push(Some(socket));
                }
                continue;
            }
            let place = event.data.u64() as usize;
            if copy(&sockets, place, &mut buffer).is_err() {
                sockets[place] = None;
                sockets[place ^ 1] = None;
            }
        }
    }
}

/// Moves what one read brings. Writes block, which the small messages of the benchmark never notice.
fn copy(sockets: &[Option<TcpStream>], place: usize, buffer: &mut [u8]) -> io::Result<()> {
    let (Some(from), Some(to)) = (&sockets[place], &sockets[place ^ 1]) else { return Ok(()) };
    let count = rustix::io::read(from, &mut *buffer)?;
    if count == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    floor::stdio_loop::write_all(to, &buffer[..count])
}
