//! The order in which jobs begin: fair between callers, fair between a caller's tools, the urgent ones of each first, and no
//! more at once than there may be. A plain structure; it starts nothing.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::id::JobId;

/// How many may run at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// In all.
    pub running: usize,
    /// Of one caller.
    pub per_caller: usize,
    /// Of one tool.
    pub per_tool: usize,
}

/// A job that waits for its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The job.
    pub id: JobId,
    /// Whose it is.
    pub caller: Arc<str>,
    /// Its tool.
    pub tool: Arc<str>,
    /// More comes first.
    pub priority: i8,
}

/// The jobs of one process that wait or run.
#[derive(Debug, Default)]
pub struct Queue {
    /// In the order in which they came.
    waiting: Vec<Waiting>,
    running: BTreeMap<JobId, (Arc<str>, Arc<str>)>,
    /// Callers, the one whose turn was longest ago first.
    callers: VecDeque<Arc<str>>,
    /// The same for the tools of each.
    tools: VecDeque<(Arc<str>, Arc<str>)>,
}

impl Queue {
    /// Has a job wait behind those that are as urgent. One that waits or runs already stays where it is.
    pub fn push(&mut self, job: Waiting) {
        if self.running.contains_key(&job.id) || self.waiting.iter().any(|waiting| waiting.id == job.id) {
            return;
        }
        if !self.callers.contains(&job.caller) {
            self.callers.push_back(job.caller.clone());
        }
        let tool = (job.caller.clone(), job.tool.clone());
        if !self.tools.contains(&tool) {
            self.tools.push_back(tool);
        }
        self.waiting.push(job);
    }

    /// The job that begins next, which runs from now on; nothing if none may.
    pub fn next(&mut self, limits: Limits) -> Option<Waiting> {
        if self.running.len() >= limits.running {
            return None;
        }
        let caller = self.callers.iter().find(|caller| self.next_of(caller, limits).is_some())?.clone();
        let at = self.next_of(&caller, limits)?;
        let job = self.waiting.remove(at);
        turned(&mut self.callers, &job.caller);
        turned(&mut self.tools, &(job.caller.clone(), job.tool.clone()));
        self.running.insert(job.id.clone(), (job.caller.clone(), job.tool.clone()));
        Some(job)
    }

    /// Where the next job of a caller waits: the most urgent one, among these one of the tool whose turn was longest ago,
    /// among these the first.
    fn next_of(&self, caller: &Arc<str>, limits: Limits) -> Option<usize> {
        let of_caller = self.running.values().filter(|(of, _)| of == caller).count();
        if of_caller >= limits.per_caller {
            return None;
        }
        let is_free =
            |tool: &Arc<str>| self.running.values().filter(|(_, of)| of == tool).count() < limits.per_tool;
        let turn =
            |job: &Waiting| self.tools.iter().position(|(of, tool)| *of == job.caller && *tool == job.tool);
        let ready =
            self.waiting.iter().enumerate().filter(|(_, job)| job.caller == *caller && is_free(&job.tool));
        // Of those alike, the first.
        ready.min_by_key(|(_, job)| (-i16::from(job.priority), turn(job))).map(|(at, _)| at)
    }

    /// Takes a job out, whether it waited or ran; false if it did neither.
    pub fn remove(&mut self, id: &JobId) -> bool {
        let was_running = self.running.remove(id);
        let at = self.waiting.iter().position(|job| job.id == *id);
        let waited = at.map(|at| self.waiting.remove(at));
        let gone = was_running.as_ref().map(|(caller, _)| caller).or(waited.as_ref().map(|job| &job.caller));
        let Some(caller) = gone else { return false };
        let is_left = self.waiting.iter().any(|job| job.caller == *caller)
            || self.running.values().any(|(of, _)| of == caller);
        if !is_left {
            self.callers.retain(|of| of != caller);
            self.tools.retain(|(of, _)| of != caller);
        }
        true
    }

    /// Notes a job that runs already, whatever the limits say.
    pub fn runs(&mut self, job: Waiting) {
        self.running.insert(job.id, (job.caller, job.tool));
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// How many run.
    pub fn running(&self) -> usize {
        self.running.len()
    }
}

/// Moves the one whose turn it was behind all others.
fn turned<T: PartialEq>(order: &mut VecDeque<T>, one: &T) {
    if let Some(at) = order.iter().position(|other| other == one)
        && let Some(one) = order.remove(at)
    {
        order.push_back(one);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE_AT_A_TIME: Limits = Limits { running: 1, per_caller: 9, per_tool: 9 };

    /// Jobs as `caller/tool` or `caller/tool+priority`, numbered from 1.
    fn queue(jobs: &str) -> (Queue, BTreeMap<JobId, usize>) {
        let (mut queue, mut numbers) = (Queue::default(), BTreeMap::new());
        for (nth, job) in jobs.split_whitespace().enumerate() {
            let (job, priority) = job.split_once('+').unwrap_or((job, "0"));
            let (caller, tool) = job.split_once('/').expect("caller/tool");
            let id = JobId::parse(&format!("{:032x}", nth + 1)).expect("an id");
            numbers.insert(id.clone(), nth + 1);
            let priority = priority.parse().expect("a priority");
            queue.push(Waiting { id, caller: caller.into(), tool: tool.into(), priority });
        }
        (queue, numbers)
    }

    /// The order in which jobs begin if each ends before the next begins.
    #[track_caller]
    fn check(jobs: &str, limits: Limits, expected: &[usize]) {
        let (mut queue, numbers) = queue(jobs);
        let mut order = Vec::new();
        while let Some(job) = queue.next(limits) {
            order.push(numbers[&job.id]);
            assert!(queue.remove(&job.id));
        }
        assert_eq!(order, expected, "{jobs}");
        assert!(queue.callers.is_empty() && queue.tools.is_empty(), "nobody is remembered for nothing");
    }

    /// Those that begin if none ends.
    #[track_caller]
    fn check_at_once(jobs: &str, limits: Limits, expected: &[usize]) {
        let (mut queue, numbers) = queue(jobs);
        let begun = std::iter::from_fn(|| queue.next(limits)).map(|job| numbers[&job.id]);
        assert_eq!(begun.collect::<Vec<_>>(), expected, "{jobs}");
        assert_eq!(queue.running(), expected.len());
    }

    #[test]
    fn callers_take_turns_whoever_came_with_more() {
        check("a/x a/x a/x b/x", ONE_AT_A_TIME, &[1, 4, 2, 3]);
        check("a/x a/x b/x b/x c/x", ONE_AT_A_TIME, &[1, 3, 5, 2, 4]);
    }

    #[test]
    fn the_tools_of_a_caller_take_turns() {
        check("a/x a/x a/x a/y", ONE_AT_A_TIME, &[1, 4, 2, 3]);
        check("a/x a/x a/y b/z b/z", ONE_AT_A_TIME, &[1, 4, 3, 5, 2]);
    }

    #[test]
    fn the_urgent_ones_of_a_caller_come_first_and_of_others_no_sooner() {
        check("a/x a/x+5 a/x-1 a/x+9".replace("-1", "+-1").as_str(), ONE_AT_A_TIME, &[4, 2, 1, 3]);
        check("a/x b/x+10 b/x+10", ONE_AT_A_TIME, &[1, 2, 3]);
    }

    #[test]
    fn no_more_run_at_once_than_there_may() {
        let limits = Limits { running: 4, per_caller: 3, per_tool: 2 };
        check_at_once("a/x a/x a/x a/y b/x b/z", limits, &[1, 5, 4, 6]);
        check_at_once("a/x a/y a/z a/w", limits, &[1, 2, 3]);
        check_at_once("a/x a/x a/x", limits, &[1, 2]);
        check_at_once("a/x b/x c/x", limits, &[1, 2]);
        check_at_once("a/x", Limits { running: 0, ..limits }, &[]);
    }

    #[test]
    fn one_that_waits_or_runs_is_not_there_twice() {
        let (mut queue, _) = queue("a/x");
        let job = queue.waiting[0].clone();
        queue.push(job.clone());
        assert_eq!(queue.waiting(), 1);
        assert_eq!(queue.next(ONE_AT_A_TIME), Some(job.clone()));
        queue.push(job.clone());
        assert_eq!((queue.waiting(), queue.running()), (0, 1));
        assert!(queue.remove(&job.id) && !queue.remove(&job.id));
        queue.runs(job);
        assert_eq!(queue.running(), 1);
    }
}
