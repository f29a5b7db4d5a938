//! `OfCaller`: the jobs of one caller that wait, a line for each tool, and how many of them run.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::id::JobId;

/// Where a job stands in the line of its tool: the urgent ones first, among these those that came first.
pub(crate) type Place = (Reverse<i8>, u64);

/// The jobs of one caller.
#[derive(Debug, Default)]
pub(crate) struct OfCaller {
    pub(crate) running: usize,
    /// The tool whose turn was longest ago first. One that nothing waits for keeps its turn.
    lines: VecDeque<Line>,
}

#[derive(Debug)]
struct Line {
    tool: Arc<str>,
    waiting: BTreeMap<Place, JobId>,
}

impl OfCaller {
    pub(crate) fn push(&mut self, tool: &Arc<str>, place: Place, id: JobId) {
        let at = self.lines.iter().position(|line| line.tool == *tool).unwrap_or_else(|| {
            self.lines.push_back(Line { tool: tool.clone(), waiting: BTreeMap::new() });
            self.lines.len() - 1
        });
        self.lines[at].waiting.insert(place, id);
    }

    /// Which line is next: the one with the most urgent job, among these the one whose turn was longest ago. Only those of
    /// free tools count.
    pub(crate) fn next(&self, is_free: impl Fn(&str) -> bool) -> Option<usize> {
        let ready = self.lines.iter().enumerate().filter_map(|(at, line)| {
            let ((urgency, _), _) = line.waiting.first_key_value()?;
            is_free(&line.tool).then_some((at, *urgency))
        });
        // Of those alike, the first.
        ready.min_by_key(|(_, urgency)| *urgency).map(|(at, _)| at)
    }

    /// Takes the first job of a line, whose tool waits longest for its turn from now on.
    pub(crate) fn take(&mut self, at: usize) -> Option<(Arc<str>, JobId)> {
        let mut line = self.lines.remove(at)?;
        let job = line.waiting.pop_first();
        let tool = line.tool.clone();
        self.lines.push_back(line);
        job.map(|(_, id)| (tool, id))
    }

    pub(crate) fn remove(&mut self, tool: &str, place: Place) {
        if let Some(line) = self.lines.iter_mut().find(|line| *line.tool == *tool) {
            line.waiting.remove(&place);
        }
    }

    /// Whether nothing waits and nothing runs.
    pub(crate) fn is_done(&self) -> bool {
        self.running == 0 && self.lines.iter().all(|line| line.waiting.is_empty())
    }
}
