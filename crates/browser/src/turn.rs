//! `Turn`: who decides about hosts that no rule names, while a browser works for one call. It asks about the hosts of pages
//! alone: a page would have a person asked about every host that it takes pictures from. Between two calls nothing
//! more is reached; what the last page has open ends with it, some milliseconds after its call.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use sandbox::egress::{Destination, Judge, Reason};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use url::Url;

/// Of one browser.
#[derive(Debug)]
pub(crate) struct Turn {
    state: Mutex<State>,
    /// Where browsers that work have their places.
    working: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct State {
    /// Which turn it is.
    number: u64,
    is_open: bool,
    judge: Option<Arc<dyn Judge>>,
    /// The place among those that work: another has it while a person is asked.
    place: Option<OwnedSemaphorePermit>,
    /// Where the page of the call is, and where it has led on to.
    pages: Vec<Destination>,
    /// How many questions are open.
    asking: usize,
    has_granted: bool,
}

impl Turn {
    pub(crate) fn new(working: Arc<Semaphore>) -> Turn {
        Turn { state: Mutex::default(), working }
    }

    /// A call begins.
    pub(crate) fn begin(&self, judge: Option<Arc<dyn Judge>>, place: OwnedSemaphorePermit) {
        let mut state = self.state();
        *state =
            State { number: state.number + 1, is_open: true, judge, place: Some(place), ..State::default() };
    }

    /// It has ended. Says whether more was granted to it than its rules name.
    pub(crate) fn end(&self) -> bool {
        let mut state = self.state();
        let number = state.number;
        std::mem::replace(&mut *state, State { number, ..State::default() }).has_granted
    }

    /// The page of the call is at this address now.
    pub(crate) fn leads_to(&self, url: &str) {
        if let Some(to) = destination(url) {
            let mut state = self.state();
            if !state.pages.contains(&to) {
                state.pages.push(to);
            }
        }
    }

    /// Whether somebody is being asked.
    pub(crate) fn is_asking(&self) -> bool {
        self.state().asking > 0
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Judge for Turn {
    fn allows<'a>(&'a self, to: &'a Destination) -> BoxFuture<'a, Result<(), Reason>> {
        Box::pin(async move {
            let judge = {
                let state = self.state();
                state.judge.clone().filter(|_| state.pages.contains(to))
            };
            let judge = judge.ok_or(Reason::NoRule)?;
            let asking = Asking::new(self);
            let number = asking.number;
            let answer = judge.allows(to).await;
            asking.answered().await;
            let mut state = self.state();
            // An answer that comes after the call is nobody's any more.
            let is_now = state.is_open && state.number == number;
            let answer = if is_now { answer } else { Err(Reason::NoRule) };
            state.has_granted |= answer.is_ok();
            answer
        })
    }

    fn turn(&self) -> Option<u64> {
        let state = self.state();
        state.is_open.then_some(state.number)
    }
}

/// A question, however it ends.
struct Asking<'t> {
    turn: &'t Turn,
    number: u64,
}

impl<'t> Asking<'t> {
    fn new(turn: &'t Turn) -> Asking<'t> {
        let mut state = turn.state();
        state.asking += 1;
        state.place = None;
        Asking { turn, number: state.number }
    }

    /// Waits for a place to work on, unless the call has ended or another question has waited for it.
    async fn answered(self) {
        let is_needed = |state: &State| state.number == self.number && state.is_open && state.place.is_none();
        if !is_needed(&self.turn.state()) {
            return;
        }
        let place = self.turn.working.clone().acquire_owned().await;
        let mut state = self.turn.state();
        if is_needed(&state) {
            // Nobody closes it.
            state.place = place.ok();
        }
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let mut state = self.turn.state();
        if state.number == self.number {
            state.asking = state.asking.saturating_sub(1);
        }
    }
}

/// Where an address leads to, as the sandbox knows it; nothing for one that leads nowhere.
pub fn destination(url: &str) -> Option<Destination> {
    let url = Url::parse(url).ok()?;
    Destination::parse(url.host_str()?, url.port_or_known_default()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Yes;

    impl Judge for Yes {
        fn allows<'a>(&'a self, _: &'a Destination) -> BoxFuture<'a, Result<(), Reason>> {
            Box::pin(async { Ok(()) })
        }
    }

    fn turn(places: usize) -> (Arc<Semaphore>, Turn) {
        let working = Arc::new(Semaphore::new(places));
        (working.clone(), Turn::new(working))
    }

    fn place(working: &Arc<Semaphore>) -> OwnedSemaphorePermit {
        working.clone().try_acquire_owned().expect("a place")
    }

    #[tokio::test]
    async fn only_the_hosts_of_pages_are_asked_about_and_only_in_a_turn() {
        let (working, turn) = turn(1);
        let (page, other) =
            (destination("https://a.test/x").expect("one"), destination("http://b.test:81").expect("one"));
        assert_eq!((page.to_string(), other.to_string()), ("a.test:443".to_owned(), "b.test:81".to_owned()));
        assert!(turn.allows(&page).await.is_err() && turn.turn().is_none(), "nobody's turn");
        turn.begin(Some(Arc::new(Yes)), place(&working));
        assert!(turn.allows(&page).await.is_err() && turn.turn() == Some(1), "no page yet");
        turn.leads_to("https://a.test/x");
        turn.leads_to("not an address");
        assert!(turn.allows(&other).await.is_err(), "no page");
        assert!(!std::mem::take(&mut turn.state().has_granted));
        assert_eq!(turn.allows(&page).await, Ok(()));
        assert!(!turn.is_asking() && turn.end(), "it was granted more");
        assert!(
            turn.allows(&page).await.is_err() && turn.turn().is_none() && !turn.end(),
            "the turn is over"
        );
        turn.begin(None, place(&working));
        turn.leads_to("https://a.test/x");
        assert!(turn.allows(&page).await.is_err(), "nobody can be asked");
    }

    /// A person who answers when told to.
    #[derive(Debug, Default)]
    struct Person(tokio::sync::Notify);

    impl Judge for Person {
        fn allows<'a>(&'a self, _: &'a Destination) -> BoxFuture<'a, Result<(), Reason>> {
            Box::pin(async {
                self.0.notified().await;
                Ok(())
            })
        }
    }

    #[tokio::test]
    async fn who_waits_for_a_person_leaves_the_place_to_others() {
        let (working, turn) = turn(1);
        let (person, page) = (Arc::new(Person::default()), destination("https://a.test/").expect("one"));
        turn.begin(Some(person.clone()), place(&working));
        turn.leads_to("https://a.test/");
        let mut asked = std::pin::pin!(turn.allows(&page));
        assert!(futures_util::poll!(&mut asked).is_pending() && turn.is_asking());
        let others = place(&working);
        person.0.notify_one();
        assert!(futures_util::poll!(&mut asked).is_pending(), "it has no place");
        drop(others);
        assert_eq!(asked.await, Ok(()));
        assert_eq!((working.available_permits(), turn.is_asking()), (0, false));
        turn.end();
        assert_eq!(working.available_permits(), 1);
        // One that ends while somebody is asked needs none any more.
        turn.begin(Some(person.clone()), place(&working));
        turn.leads_to("https://a.test/");
        let mut asked = std::pin::pin!(turn.allows(&page));
        assert!(futures_util::poll!(&mut asked).is_pending());
        turn.end();
        person.0.notify_one();
        assert!(asked.await.is_err(), "the answer comes too late");
        assert_eq!(working.available_permits(), 1);
        // Nor does it count for the next call.
        turn.begin(Some(person.clone()), place(&working));
        turn.leads_to("https://a.test/");
        let mut asked = std::pin::pin!(turn.allows(&page));
        assert!(futures_util::poll!(&mut asked).is_pending());
        turn.end();
        turn.begin(None, place(&working));
        person.0.notify_one();
        assert!(asked.await.is_err() && !turn.end(), "nobody has granted it anything");
    }
}
