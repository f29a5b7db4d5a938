//! `Turn`: who decides about hosts that no rule names, while a browser works for one call. It asks about the hosts of pages
//! alone: a page would have a person asked about every host that it takes pictures from.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use sandbox::egress::{Destination, Judge};
use url::Url;

/// Of one browser. Others are refused between two calls.
#[derive(Debug, Default)]
pub(crate) struct Turn(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    judge: Option<Arc<dyn Judge>>,
    /// Where the page of the call is, and where it has led on to.
    pages: Vec<Destination>,
    /// How many questions are open.
    asking: usize,
    has_granted: bool,
}

impl Turn {
    /// A call begins.
    pub(crate) fn begin(&self, judge: Option<Arc<dyn Judge>>) {
        *self.state() = State { judge, ..State::default() };
    }

    /// It has ended. Says whether more was granted to it than its rules name.
    pub(crate) fn end(&self) -> bool {
        std::mem::take(&mut *self.state()).has_granted
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Judge for Turn {
    fn allows<'a>(&'a self, to: &'a Destination) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let judge = {
                let state = self.state();
                state.judge.clone().filter(|_| state.pages.contains(to))
            };
            let Some(judge) = judge else { return false };
            let asking = Asking::new(self);
            let is_allowed = judge.allows(to).await;
            drop(asking);
            if is_allowed {
                self.state().has_granted = true;
            }
            is_allowed
        })
    }
}

/// A question, however it ends.
struct Asking<'t>(&'t Turn);

impl<'t> Asking<'t> {
    fn new(turn: &'t Turn) -> Asking<'t> {
        turn.state().asking += 1;
        Asking(turn)
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.asking = state.asking.saturating_sub(1);
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
        fn allows<'a>(&'a self, _: &'a Destination) -> BoxFuture<'a, bool> {
            Box::pin(async { true })
        }
    }

    #[tokio::test]
    async fn only_the_hosts_of_pages_are_asked_about_and_only_in_a_turn() {
        let turn = Turn::default();
        let (page, other) =
            (destination("https://a.test/x").expect("one"), destination("http://b.test:81").expect("one"));
        assert_eq!((page.to_string(), other.to_string()), ("a.test:443".to_owned(), "b.test:81".to_owned()));
        assert!(!turn.allows(&page).await, "nobody's turn");
        turn.begin(Some(Arc::new(Yes)));
        assert!(!turn.allows(&page).await, "no page yet");
        turn.leads_to("https://a.test/x");
        turn.leads_to("not an address");
        assert!(!turn.allows(&other).await, "no page");
        assert!(!std::mem::take(&mut turn.state().has_granted));
        assert!(turn.allows(&page).await);
        assert!(!turn.is_asking() && turn.end(), "it was granted more");
        assert!(!turn.allows(&page).await && !turn.end(), "the turn is over");
        turn.begin(None);
        turn.leads_to("https://a.test/x");
        assert!(!turn.allows(&page).await, "nobody can be asked");
    }
}
