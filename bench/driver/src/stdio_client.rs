//! An MCP client over a program's stdin and stdout: blocking pipes, one thread, one `write` and one `read` a call.

use std::io::{Read as _, Write as _};
use std::process::{ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};

use super::client::Client;
use super::message::{INITIALIZED, Request};
use super::proc_figures;
use super::process::{Launch, Running};
use super::slices::{Slice, from_count};

/// The first id after the handshake: all later ones have as many digits, so requests keep their length.
const FIRST_ID: u64 = 1_000_000;
/// One read brings at most what a pipe holds.
const READ_BYTES: usize = 64 * 1024;
/// So many windows of later calls may be answered before an early one, as threads do.
const OVERTAKING_MAX: usize = 16;
/// The handshake of the slowest peer takes a second; a call under a tracer takes milliseconds.
pub(crate) const SILENCE_MAX: Duration = Duration::from_secs(60);

/// An open connection. The pipes come first: they close before the program is waited for.
pub(crate) struct StdioClient {
    stdin: ChildStdin,
    stdout: ChildStdout,
    /// Bytes read; the answers up to `taken` have been looked at, those up to `filled` have come.
    input: Vec<u8>,
    taken: usize,
    filled: usize,
    output: Vec<u8>,
    /// Where in `input` the last answer lies.
    answer: std::ops::Range<usize>,
    next_id: u64,
    /// The program itself.
    pub(crate) running: Running,
}

impl StdioClient {
    /// Starts a program that speaks no protocol.
    pub(crate) fn bare(launch: &Launch) -> anyhow::Result<Self> {
        let mut running = launch.spawn_on_pipes()?;
        let stdin = running.child.stdin.take().context("no pipe to the program")?;
        let stdout = running.child.stdout.take().context("no pipe from the program")?;
        let (input, output) = (vec![0; READ_BYTES], Vec::new());
        Ok(Self { stdin, stdout, input, taken: 0, filled: 0, output, answer: 0..0, next_id: 1, running })
    }

    /// Starts an MCP server and shakes hands.
    pub(crate) fn open(launch: &Launch) -> anyhow::Result<Self> {
        let mut client = Self::bare(launch)?;
        client.handshake().with_context(|| format!("{}: {}", launch.name, client.running.complaint()))?;
        Ok(client)
    }

    /// `initialize` and `notifications/initialized`; the time is that of the answer.
    pub(crate) fn handshake(&mut self) -> anyhow::Result<Duration> {
        let _watch = self.running.within(SILENCE_MAX);
        let elapsed = self.call(&Request::initialize()).context("the handshake failed")?;
        self.output.clear();
        self.output.extend_from_slice(INITIALIZED);
        self.output.push(b'\n');
        self.stdin.write_all(&self.output)?;
        self.next_id = FIRST_ID;
        Ok(elapsed)
    }

    /// Keeps `window` calls in flight until `time` has passed, then drains. Only the number of finished calls is
    /// measured. `window` small messages fit the pipes both ways, so that neither side can block the other.
    pub(crate) fn pipelined(
        &mut self,
        request: &Request,
        window: usize,
        time: Duration,
    ) -> anyhow::Result<Slice> {
        let _watch = self.running.within(SILENCE_MAX + time);
        let cpu_before = proc_figures::cpu_ns_of_tree(self.running.pid());
        let first_id = self.next_id;
        let open_length = (window * OVERTAKING_MAX) as u64;
        let mut open = vec![false; window * OVERTAKING_MAX];
        let slot = |id: u64| usize::try_from((id - first_id) % open_length).unwrap_or(0);
        let start = Instant::now();
        let mut finished = 0;
        self.output.clear();
        for _ in 0..window {
            open[slot(self.next_id)] = true;
            self.append(request);
        }
        loop {
            self.stdin.write_all(&self.output)?;
            self.output.clear();
            if finished == self.next_id - first_id {
                let elapsed = start.elapsed();
                let cpu_ns = proc_figures::cpu_ns_of_tree(self.running.pid()).saturating_sub(cpu_before);
                return Ok(from_count(finished, elapsed, cpu_ns));
            }
            self.fill()?;
            let goes_on = start.elapsed() < time;
            while let Some(line) = self.take_line() {
                let Some(id) = request.check(&self.input[line])? else { continue };
                ensure!(
                    id >= first_id && id < self.next_id && open[slot(id)],
                    "{id} was answered but not asked"
                );
                finished += 1;
                open[slot(id)] = false;
                // Where an answer is very late, its place is still taken, and the window shrinks until it comes.
                while goes_on
                    && self.next_id - first_id - finished < window as u64
                    && !open[slot(self.next_id)]
                {
                    open[slot(self.next_id)] = true;
                    self.append(request);
                }
            }
        }
    }

    fn append(&mut self, request: &Request) {
        request.render(self.next_id, &mut self.output);
        self.output.push(b'\n');
        self.next_id += 1;
    }

    /// The next whole line that has come, if any.
    fn take_line(&mut self) -> Option<std::ops::Range<usize>> {
        let end = self.taken + memchr::memchr(b'\n', &self.input[self.taken..self.filled])?;
        let line = self.taken..end;
        self.taken = end + 1;
        Some(line)
    }

    /// One read. What has been looked at makes room first.
    fn fill(&mut self) -> anyhow::Result<()> {
        self.input.copy_within(self.taken..self.filled, 0);
        self.filled -= self.taken;
        self.taken = 0;
        if self.input.len() < self.filled + READ_BYTES {
            self.input.resize((self.filled + READ_BYTES).next_power_of_two(), 0);
        }
        let count = self.stdout.read(&mut self.input[self.filled..])?;
        if count == 0 {
            bail!("the program closed its output, or was ended because it did not answer");
        }
        self.filled += count;
        Ok(())
    }

    /// Reads to the end of the next line; only new bytes are searched.
    fn next_line(&mut self) -> anyhow::Result<std::ops::Range<usize>> {
        if let Some(line) = self.take_line() {
            return Ok(line);
        }
        loop {
            let seen = self.filled - self.taken;
            self.fill()?;
            if let Some(at) = memchr::memchr(b'\n', &self.input[seen..self.filled]) {
                self.taken = seen + at + 1;
                return Ok(0..seen + at);
            }
        }
    }
}

impl Client for StdioClient {
    fn call(&mut self, request: &Request) -> anyhow::Result<Duration> {
        let id = self.next_id;
        self.output.clear();
        self.append(request);
        let start = Instant::now();
        self.stdin.write_all(&self.output)?;
        loop {
            let line = self.next_line()?;
            let elapsed = start.elapsed();
            if let Some(answered) = request.check(&self.input[line.clone()])? {
                ensure!(answered == id, "{answered} was answered, {id} was asked");
                self.answer = line;
                return Ok(elapsed);
            }
        }
    }

    fn last_answer(&self) -> &[u8] {
        &self.input[self.answer.clone()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watchdog::Watchdog;

    fn client(folder: &std::path::Path, line: &[&str]) -> StdioClient {
        let launch = Launch {
            name: line[0].into(),
            line: line.iter().map(Into::into).collect(),
            environment: xtask::program::clean_environment(folder),
            folder: folder.to_owned(),
            log: folder.join("log"),
            watchdog: Watchdog::start(),
        };
        StdioClient::bare(&launch).expect("the program starts")
    }

    #[test]
    fn a_pipe_answers_one_call_and_many() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut client = client(folder.path(), &["cat"]);
        let request = Request::ping().echoed();
        for _ in 0..3 {
            client.call(&request).expect("cat sends it back");
        }
        assert!(client.last_answer().ends_with(br#""method":"ping"}"#));
        let slice =
            client.pipelined(&request, 8, Duration::from_millis(1)).expect("cat sends all of them back");
        assert!(slice.calls_per_second > 0.0);
        client.call(&request).expect("nothing is left in the pipe");
    }

    fn check(script: &str, expected: &str) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let error =
            client(folder.path(), &["sh", "-c", script]).call(&Request::ping()).expect_err("no good answer");
        assert!(error.to_string().starts_with(expected), "{error}");
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        check("cat", "not the expected answer: ");
        check("read x; echo garbage", "not a message: garbage");
        check(r#"read x; echo '{"id":7,"result":{}}'"#, "7 was answered, 1 was asked");
        check("read x; printf half", "the program closed its output");
    }
}
