//! What an upstream publishes: its offer after every change of its lists, which are read here, and its events.

use std::sync::Arc;

use futures_util::future::join_all;
use pins::{Conceal, Judge};
use tool_api::Event;
use wire::Code;
use wire::message::Text;

use crate::answer;
use crate::catalogue;
use crate::clock::now_ms;
use crate::config::Isolation;
use crate::connection::{Connection, Era, Notice};
use crate::error::ConnectError;
use crate::fault::Fault;
use crate::kind::Kind;
use crate::listing::{self, Listed};
use crate::lists::{Lists, completed, nothing_said};
use crate::offer::{Offer, State};
use crate::settings::Settings;
use crate::upstream::Upstream;

impl Upstream {
    /// Publishes what a connection that has just become live lists. What could not be read of it is as it was on
    /// the connection before.
    pub(crate) fn show(&self, lists: Lists, state: State) {
        let lists = match self.lists() {
            Some(before) => lists.filled_from(&before),
            None => lists,
        };
        let offer = self.offer_of(&lists, state, &self.pins.judge_now(), true);
        self.log_withheld(&offer);
        let mistakes = offer.mistakes.clone();
        let mut before = Offer { fetched_at_ms: Some(now_ms()), ..offer };
        self.offers.send_modify(|shown| {
            self.tell_status(&shown.state, &before.state);
            std::mem::swap(shown, &mut before);
        });
        // Warns of what is most likely a slip in the table, once for as long as it stays the same.
        for mistake in mistakes.iter().filter(|mistake| !before.fresh || !before.mistakes.contains(mistake)) {
            tracing::warn!(target: "upstream", upstream = %self.name(), mistake, "its table may have a slip");
        }
        self.next_generation();
    }

    /// Takes the other upstreams that `newer`, settings of the same server, knows (see `Settings::knowing`), and
    /// offers anew what it has if that changes which names and URIs are its own.
    pub fn knowing_others(&self, newer: &Settings) {
        if !self.settings.knowing_as(newer) {
            return;
        }
        let changed = self.offers.send_if_modified(|offer| {
            let is_known = self.renew(offer);
            if is_known {
                self.log_withheld(offer);
            }
            is_known
        });
        if changed {
            self.next_generation();
        }
    }

    /// The offer that follows from lists, with a warning of what is held back that nobody was warned of.
    pub(crate) fn offer_of(&self, lists: &Lists, state: State, judge: &Judge, fresh: bool) -> Offer {
        let offer = catalogue::offer(lists, &self.settings, &self.me, state, fresh, judge);
        self.pins.warn(lists, judge, |key| self.settings.mask().shown_name(key));
        offer
    }

    /// Takes note of lists before anything of them is offered.
    pub(crate) async fn see(&self, lists: &Lists) {
        self.note_blindness(self.pins.see(lists, now_ms()).await);
    }

    /// Says why definitions cannot be held against what was accepted, once for as long as it stays the same.
    fn note_blindness<T>(&self, seen: Result<T, Arc<str>>) -> Option<T> {
        let why = match seen {
            Ok(seen) => return Some(seen),
            Err(why) => self.settings.masked(&why),
        };
        if self.note_error(&why) {
            let upstream = self.name();
            tracing::error!(target: "upstream", %upstream, why, "its definitions cannot be held against what was accepted");
        }
        None
    }

    /// Offers what is remembered as [`Upstream::offer_cached`] does, after reading what was accepted of the server.
    pub async fn recall(&self, definitions: &str, fetched_at_ms: i64) -> bool {
        if let Some(lists) = self.remembered(definitions).filter(|_| self.settings.enabled) {
            self.note_blindness(self.pins.recall(&lists).await);
        }
        self.offer_cached(definitions, fetched_at_ms)
    }

    /// Reads again what was accepted of the server, and offers by it what it has.
    pub async fn take_up_decisions(&self) {
        let offer = self.offers.borrow().clone();
        let Some(seen) = self.lists_of(&offer) else { return };
        let is_fresh = offer.fresh;
        // What is remembered is noted if nothing else is known of the server.
        if is_fresh || self.note_blindness(self.pins.recall(&*seen).await) == Some(false) {
            self.see(&seen).await;
        }
        // What was read meanwhile has been seen, too.
        self.offers.send_if_modified(|offer| self.renew(offer));
        self.next_generation();
    }

    /// Makes an offer anew from the lists that it was made from; false if there are none.
    fn renew(&self, offer: &mut Offer) -> bool {
        let Some(lists) = self.lists_of(offer) else { return false };
        let (state, fresh, fetched_at_ms) = (offer.state.clone(), offer.fresh, offer.fetched_at_ms);
        *offer = Offer { fetched_at_ms, ..self.offer_of(&lists, state, &self.pins.judge_now(), fresh) };
        true
    }

    /// What an offer was made from.
    fn lists_of(&self, offer: &Offer) -> Option<Arc<Lists>> {
        offer.lists.clone().or_else(|| self.remembered(offer.definitions.as_deref()?).map(Arc::new))
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
                let (upstream, list, shown) =
                    (self.name(), kind.noun(), self.settings.masked(&error.to_string()));
                tracing::warn!(target: "upstream", upstream, list, error = shown, "could not read its changed list");
                let is_gone = matches!(error, ConnectError::Request(Fault::NotSent(_) | Fault::Busy));
                if is_gone {
                    self.give_up(connection.exchange(), State::Failed { error: shown });
                }
                return is_gone;
            }
        };
        if let Some(lists) = self.lists() {
            self.see(&lists.with(listed.clone())).await;
        }
        self.offers.send_if_modified(|offer| {
            // What a connection says that has lost its place meanwhile is of no interest.
            let is_live = self.live.load().as_ref().is_some_and(|live| Arc::ptr_eq(live, &connection));
            let Some(before) = offer.lists.clone().filter(|_| is_live) else { return false };
            let lists = Arc::new(before.with(listed));
            offer.lists = Some(lists.clone());
            offer.ttl_ms = lists.ttl_ms();
            if Kind::ALL.into_iter().find(|&kind| lists.has(kind)) == Some(kind) {
                offer.fetched_at_ms = Some(now_ms());
            }
            let is_news = offer.definitions.as_deref() != Some(lists.written().as_str())
                || lists.unread.len() != before.unread.len();
            if is_news {
                let (tools, held) =
                    (std::mem::take(&mut offer.tools), std::mem::take(&mut offer.features.held));
                self.renew(offer);
                if kind != Kind::Tools {
                    // Tools that have not changed stay the same, with what others have made of their schemas.
                    (offer.tools, offer.features.held) = (tools, held);
                }
                self.log_withheld(offer);
            }
            is_news
        });
        if kind == Kind::Tools {
            self.next_generation();
        }
        true
    }

    /// What was read in this run, and the offer was made from.
    pub(crate) fn lists(&self) -> Option<Arc<Lists>> {
        self.offers.borrow().lists.clone()
    }

    /// Passes on what the server tells of single things. That its lists have changed is `refresh`'s to follow.
    pub(crate) fn tell(&self, notice: Notice) {
        let map = self.settings.uri_map();
        let event = match notice {
            // Whoever watches another's resource has not asked this one.
            Notice::ResourceUpdated(uri) if map.owner(&uri).is_some() => return,
            Notice::ResourceUpdated(uri) => {
                Event::ResourceUpdated { uri: map.outward(&uri).into(), caller: None }
            }
            Notice::Task { id, params } => {
                let task = Text::check(params.clone()).map(|task| answer::task_outward(&map, &task).bytes());
                let (source, task) = (self.settings.name.clone(), task.unwrap_or(params));
                Event::Task { source, id: id.into(), task }
            }
            Notice::ElicitationComplete { conversation, key } => {
                Event::ElicitationComplete { conversation, id: key.into() }
            }
            // Who has a server to himself would be told others' affairs, and others his.
            Notice::Foreign { .. } if self.settings.life.isolation != Isolation::Shared => return,
            Notice::Foreign { method, params } => {
                Event::Foreign { source: self.settings.name.clone(), method: method.into(), params }
            }
            Notice::ListChanged(_) => return,
        };
        // Nobody may be listening just now.
        let _ = self.events.send(event);
    }

    /// Offers what is remembered from an earlier run (`Offer::definitions`), which was read at `fetched_at_ms`
    /// (milliseconds since 1970), without starting anything; the first call starts the server. False, and no change, if
    /// it cannot be read, if the server is disabled, if it has been seen in this run, or if it is not known what was
    /// accepted of it ([`Upstream::recall`] finds out).
    pub fn offer_cached(&self, definitions: &str, fetched_at_ms: i64) -> bool {
        let lists = self.remembered(definitions).filter(|_| self.settings.enabled);
        let Some((lists, judge)) = lists.zip(self.pins.judge()) else { return false };
        let is_news = self.offers.send_if_modified(|offer| {
            let is_news = !offer.fresh;
            if is_news {
                let anew = self.offer_of(&lists, offer.state.clone(), &judge, false);
                *offer = Offer { fetched_at_ms: Some(fetched_at_ms), ..anew };
            }
            is_news
        });
        if is_news {
            self.remember_era(lists.era);
        }
        is_news
    }

    /// Asks for all lists that the server says it has. One that cannot be read does not take the others away.
    ///
    /// # Errors
    /// If there are lists and none can be read.
    pub(crate) async fn read_lists(&self, connection: &Arc<Connection>) -> Result<Lists, ConnectError> {
        let identity = &connection.identity;
        let capabilities = identity.capabilities.clone().unwrap_or_else(|| nothing_said("{}"));
        let capabilities = completed(capabilities, connection.identity.revision);
        let era = if connection.is_modern() { Era::Modern } else { Era::Legacy };
        let mut lists = Lists::none(capabilities, identity.instructions.as_deref(), Some(era));
        lists.is_era_certain = self.era().is_some();
        let wanted: Vec<Kind> = Kind::ALL.into_iter().filter(|&kind| lists.has(kind)).collect();
        let reading = wanted.iter().map(|&kind| self.read_list(connection, kind));
        for (kind, read) in wanted.iter().zip(join_all(reading).await) {
            match read {
                Ok(listed) => lists = lists.with(listed),
                Err(error) => lists.unread.push((*kind, error)),
            }
        }
        match lists.unread.first() {
            Some((_, error)) if lists.unread.len() == wanted.len() => Err(error.clone()),
            _ => Ok(lists),
        }
    }

    /// Asks for one list. A server that does not know the question has none: many have resources and no
    /// templates.
    pub(crate) async fn read_list(
        &self,
        connection: &Arc<Connection>,
        kind: Kind,
    ) -> Result<Listed, ConnectError> {
        let read =
            self.within(self.settings.limits.list, kind.what(), listing::fetch(connection, kind)).await;
        match read {
            Err(ConnectError::Refused { code, .. })
                if code == Code::MethodNotFound.number() && kind != Kind::Tools =>
            {
                Ok(Listed::new(kind))
            }
            read => read.map(|listed| match self.conceal() {
                Some(conceal) => listed.concealed(conceal),
                None => listed,
            }),
        }
    }

    /// Reads what was remembered of it, as [`Lists::remembered`] does.
    pub(crate) fn remembered(&self, text: &str) -> Option<Lists> {
        let mut lists = Lists::remembered(text)?;
        if let Some(conceal) = self.conceal() {
            lists.all = lists.all.map(|listed| Arc::new(Arc::unwrap_or_clone(listed).concealed(conceal)));
        }
        Some(lists)
    }

    fn conceal(&self) -> Option<&Conceal> {
        self.world.pins.as_ref().map(|pinning| &pinning.conceal)
    }
}
