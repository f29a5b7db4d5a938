//! What an upstream publishes: its offer after every change of its lists, and its events.

use std::sync::Arc;

use tool_api::Event;
use wire::message::Text;

use crate::Upstream;
use crate::answer;
use crate::catalogue;
use crate::connection::Heard;
use crate::error::ConnectError;
use crate::listing::Kind;
use crate::lists::Lists;
use crate::offer::State;
use crate::settings::Settings;
use crate::status::now_ms;
use crate::uri_map::UriMap;

impl Upstream {
    /// Publishes what a connection that has just become live lists. What could not be read of it is as it was on
    /// the connection before.
    pub(crate) fn show(&self, lists: Lists, state: State) {
        let lists = match self.lists() {
            Some(before) => lists.filled_from(&before),
            None => lists,
        };
        let offer = catalogue::offer(&lists, &self.settings, &self.me, state, true);
        self.log_withheld(&offer);
        self.keep(lists);
        self.note_fetched(now_ms());
        let (mistakes, mut before) = (offer.mistakes.clone(), offer);
        self.offers.send_modify(|shown| {
            self.tell_status(&shown.state, &before.state);
            std::mem::swap(shown, &mut before);
        });
        self.log_mistakes(&mistakes, before.fresh.then_some(&before.mistakes));
        self.next_generation();
    }

    /// Warns of what is most likely a slip in the table, once for as long as it stays the same.
    fn log_mistakes(&self, mistakes: &[String], before: Option<&Vec<String>>) {
        let is_news = |mistake: &&String| before.is_none_or(|before| !before.contains(mistake));
        for mistake in mistakes.iter().filter(is_news) {
            tracing::warn!(target: "upstream", upstream = %self.name(), mistake, "its table may have a slip");
        }
    }

    /// Takes the other upstreams that `newer`, settings of the same server, knows (see `Settings::knowing`), and
    /// offers anew what it has if that changes which names and URIs are its own.
    pub fn knowing_others(&self, newer: &Settings) {
        if !self.settings.knowing_as(newer) {
            return;
        }
        let changed = self.offers.send_if_modified(|offer| {
            let lists = self.lists().or_else(|| Lists::remembered(offer.definitions.as_deref()?));
            let Some(lists) = lists else { return false };
            let (state, fresh) = (offer.state.clone(), offer.fresh);
            *offer = catalogue::offer(&lists, &self.settings, &self.me, state, fresh);
            self.log_withheld(offer);
            true
        });
        if changed {
            self.next_generation();
        }
    }

    /// Reads a list again, and with the resources the templates. If that fails the old one stays: a moment's
    /// trouble must not take anything away. False if it is worth another try.
    pub(crate) async fn refresh(&self, kind: Kind) -> bool {
        self.refresh_one(kind).await && (kind != Kind::Resources || self.refresh_one(Kind::Templates).await)
    }

    async fn refresh_one(&self, kind: Kind) -> bool {
        let Some(connection) = self.live.load_full() else { return true };
        let listed = match self.read_list(&connection, kind).await {
            Ok(listed) => listed,
            Err(error) => {
                let (upstream, list, said) =
                    (self.name(), kind.noun(), self.settings.masked(&error.to_string()));
                tracing::warn!(target: "upstream", upstream, list, error = said, "could not read its changed list");
                let is_gone = matches!(error, ConnectError::Unreachable(_));
                if is_gone {
                    self.give_up(connection.exchange(), State::Failed { error: said });
                }
                return is_gone;
            }
        };
        self.offers.send_if_modified(|offer| {
            // What a connection says that has lost its place meanwhile is of no interest.
            let is_live = self.live.load().as_ref().is_some_and(|live| Arc::ptr_eq(live, &connection));
            let Some(before) = self.lists().filter(|_| is_live) else { return false };
            let lists = before.with(listed);
            if Kind::ALL.into_iter().find(|&kind| lists.has(kind)) == Some(kind) {
                self.note_fetched(now_ms());
            }
            let is_news = offer.definitions.as_deref() != Some(lists.written().as_str())
                || lists.unread.len() != before.unread.len();
            if is_news {
                let (settings, me, state) = (&self.settings, &self.me, offer.state.clone());
                *offer = match kind {
                    Kind::Tools => catalogue::offer(&lists, settings, me, state, true),
                    Kind::Prompts | Kind::Resources | Kind::Templates => {
                        catalogue::with_shelf(offer.clone(), &lists, settings, me)
                    }
                };
                self.log_withheld(offer);
            }
            self.keep(lists);
            is_news
        });
        if kind == Kind::Tools {
            self.next_generation();
        }
        true
    }

    /// What the offer was made from.
    pub(crate) fn lists(&self) -> Option<Lists> {
        self.lists.lock().expect("nothing panics while it holds the lock").clone()
    }

    fn keep(&self, lists: Lists) {
        *self.lists.lock().expect("nothing panics while it holds the lock") = Some(lists);
    }

    /// Passes on what the server tells of single things. That its lists have changed is `refresh`'s to follow.
    pub(crate) fn tell(&self, heard: Heard) {
        let map = UriMap::of(&self.settings);
        let event = match heard {
            // Whoever watches another's resource has not asked this one.
            Heard::ResourceUpdated(uri) if map.owner(&uri).is_some() => return,
            Heard::ResourceUpdated(uri) => Event::ResourceUpdated { uri: map.outward(&uri).into() },
            Heard::Task { id, params } => {
                let task = Text::check(params.clone()).map(|task| answer::task_outward(&map, &task).bytes());
                let (source, task) = (self.settings.name.clone(), task.unwrap_or(params));
                Event::Task { source, id: id.into(), task }
            }
            Heard::ElicitationComplete { conversation, key } => {
                Event::ElicitationComplete { conversation, id: key.into() }
            }
            Heard::ToolsChanged | Heard::PromptsChanged | Heard::ResourcesChanged => return,
        };
        // Nobody may be listening just now.
        let _ = self.events.send(event);
    }
}
