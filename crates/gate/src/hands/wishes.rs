//! Wishes of a run: its hands tell them and wait, the call asks about each once, and all who wait for the same hear the same.

use std::collections::HashMap;

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use sandbox::egress::{Destination, Judge, Reason};
use tokio::sync::{mpsc, oneshot};

use super::notes::Notes;
use crate::approvals::{InRun, Wish};

/// Different wishes of one call that are looked at; a program that tries more tries everything.
const WISHES_MAX: usize = 64;

/// Wishes that are told and not yet heard. More wait their turn.
const UNHEARD_MAX: usize = 64;

/// Where the hands of a call tell what they want.
#[derive(Clone)]
pub(crate) struct Wishes(mpsc::Sender<Told>);

struct Told {
    wish: Wish,
    answer: oneshot::Sender<Answer>,
}

/// Whether it is granted, or why not.
type Answer = Result<(), Reason>;

/// Where the call hears it.
pub(crate) struct Heard(mpsc::Receiver<Told>);

/// How it stands with a wish.
enum Stand {
    /// These wait for its answer.
    Open(Vec<oneshot::Sender<Answer>>),
    Settled(Answer),
}

impl Wishes {
    pub(crate) fn new() -> (Wishes, Heard) {
        let (sender, receiver) = mpsc::channel(UNHEARD_MAX);
        (Wishes(sender), Heard(receiver))
    }

    /// Whether a person grants it. Waits as long as a person may take; refused once the call is over.
    pub(crate) async fn grants(&self, wish: Wish) -> Answer {
        let (answer, answered) = oneshot::channel();
        self.0.send(Told { wish, answer }).await.map_err(|_| Reason::NoRule)?;
        answered.await.unwrap_or(Err(Reason::NoRule))
    }
}

impl Judge for Wishes {
    fn allows<'a>(&'a self, to: &'a Destination) -> BoxFuture<'a, Answer> {
        Box::pin(self.grants(Wish::Host(to.clone())))
    }
}

impl Heard {
    /// Answers wishes until the call is over, and then only ends what is open: a question that is being written must not stay.
    pub(crate) async fn answer(mut self, run: &InRun<'_>, notes: &Notes) {
        let mut stands: HashMap<Wish, Stand> = HashMap::new();
        let mut asked = FuturesUnordered::new();
        let mut is_over = false;
        loop {
            let is_full = stands.len() >= WISHES_MAX;
            tokio::select! {
                () = run.over.cancelled(), if !is_over => is_over = true,
                Some(Told { wish, answer }) = self.0.recv(), if !is_over => match stands.get_mut(&wish) {
                    Some(Stand::Settled(said)) => tell(answer, *said),
                    Some(Stand::Open(waiting)) => waiting.push(answer),
                    None if is_full => tell(answer, Err(Reason::NoRule)),
                    None => {
                        stands.insert(wish.clone(), Stand::Open(vec![answer]));
                        asked.push(async move {
                            let settled = run.settle(&wish).await;
                            (wish, settled)
                        });
                    }
                },
                Some((wish, settled)) = asked.next() => {
                    let said = settled.answer;
                    if let Some(approved) = settled.approved {
                        notes.answered(&wish, approved);
                    }
                    if let Some(Stand::Open(waiting)) = stands.insert(wish, Stand::Settled(said)) {
                        waiting.into_iter().for_each(|answer| tell(answer, said));
                    }
                }
                else => return,
            }
        }
    }
}

fn tell(answer: oneshot::Sender<Answer>, said: Answer) {
    // Whoever has gone meanwhile needs none.
    let _ = answer.send(said);
}
