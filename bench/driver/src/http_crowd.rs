//! Many HTTP clients at once on one thread: each with a connection and a session of its own and one call in flight.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use rustix::event::{Timespec, epoll};

use super::http_client::{HttpClient, HttpRequest};
use super::http_response::Response;
use super::message::Request;
use super::proc_figures;
use super::slices::{Slice, from_times, nanoseconds};

const READ_BYTES: usize = 64 * 1024;
const FIRST_ID: u64 = 1_000_000;
/// Nobody answers anybody for so long only when the server is stuck.
const SILENCE_MAX: Timespec = Timespec { tv_sec: 30, tv_nsec: 0 };

struct Member {
    stream: TcpStream,
    request: HttpRequest,
    input: Vec<u8>,
    sent: Instant,
    id: u64,
}

/// The clients, connected.
pub(crate) struct Crowd {
    members: Vec<Member>,
    poll: std::os::fd::OwnedFd,
    output: Vec<u8>,
    scratch: Vec<u8>,
}

impl Crowd {
    /// Gathers `size` clients, each opened by `open`.
    pub(crate) fn gather(size: usize, open: impl Fn() -> anyhow::Result<HttpClient>) -> anyhow::Result<Self> {
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut members = Vec::with_capacity(size);
        for place in 0..size {
            let client = open().with_context(|| format!("client {} of {size}", place + 1))?;
            let (stream, request) = client.into_parts();
            stream.set_nonblocking(true)?;
            epoll::add(&poll, &stream, epoll::EventData::new_u64(place as u64), epoll::EventFlags::IN)?;
            members.push(Member { stream, request, input: Vec::new(), sent: Instant::now(), id: FIRST_ID });
        }
        Ok(Self { members, poll, output: Vec::new(), scratch: vec![0; READ_BYTES] })
    }

    /// Every client calls again as soon as it is answered, until `time` has passed; then the last answers are awaited.
    ///
    /// `pid` names the program whose processor time is counted.
    pub(crate) fn slice(&mut self, request: &Request, time: Duration, pid: u32) -> anyhow::Result<Slice> {
        let cpu_before = proc_figures::cpu_ns_of_tree(pid);
        let start = Instant::now();
        let mut times_ns = Vec::new();
        for place in 0..self.members.len() {
            self.send(place, request)?;
        }
        let mut waiting = self.members.len();
        let mut events = Vec::with_capacity(self.members.len());
        while waiting > 0 {
            events.clear();
            epoll::wait(&self.poll, rustix::buffer::spare_capacity(&mut events), Some(&SILENCE_MAX))?;
            if events.is_empty() {
                bail!("{waiting} calls got no answer");
            }
            for event in &events {
                let place = usize::try_from(event.data.u64()).unwrap_or(usize::MAX);
                let Some(elapsed) = self.receive(place, request)? else { continue };
                times_ns.push(nanoseconds(elapsed));
                if start.elapsed() < time {
                    self.send(place, request)?;
                } else {
                    waiting -= 1;
                }
            }
        }
        let elapsed = start.elapsed();
        let cpu_ns = proc_figures::cpu_ns_of_tree(pid).saturating_sub(cpu_before);
        Ok(from_times(times_ns, elapsed, Some(cpu_ns)))
    }

    /// One small request always fits an idle socket, so that the write never has to wait.
    fn send(&mut self, place: usize, request: &Request) -> anyhow::Result<()> {
        let member = &mut self.members[place];
        member.id += 1;
        self.output.clear();
        member.request.render(request, member.id, &mut self.output);
        member.sent = Instant::now();
        member.stream.write_all(&self.output)?;
        Ok(())
    }

    /// Reads what has come; how long the call took once its response is whole.
    fn receive(&mut self, place: usize, request: &Request) -> anyhow::Result<Option<Duration>> {
        let member = self.members.get_mut(place).context("an event for nobody")?;
        let count = member.stream.read(&mut self.scratch)?;
        ensure!(count > 0, "the server closed a connection");
        member.input.extend_from_slice(&self.scratch[..count]);
        let Some(response) = Response::parse(&member.input)? else { return Ok(None) };
        let elapsed = member.sent.elapsed();
        let checked = response.messages().map(|message| request.check(message));
        let ids = checked.collect::<anyhow::Result<Vec<_>>>()?;
        ensure!(ids.contains(&Some(member.id)), "no answer to {} (status {})", member.id, response.status);
        ensure!(response.length == member.input.len(), "the server sent more than one response");
        member.input.clear();
        Ok(Some(elapsed))
    }
}
