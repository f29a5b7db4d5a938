//! Does somebody only get refused? Every refusal is a record, so whoever is refused without end would fill the audit log.
//!
//! Each caller has a second bucket, out of which refusals are taken. While it is empty, further calls of that caller are
//! turned away before anything is looked at, and without a record each: one record a second says how many there were. A
//! call pays one look at a number for this unless somebody is being turned away.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use audit::{AuditLog, Decided, Opening, Record};
use policy::Caller;
use tool_api::CallId;

use crate::checks::{RATE, Rates};
use crate::clock::now_ms;
use crate::failure::Refusal;

/// Most buckets buckets. Beyond it, those that are full are forgotten; if none is, newcomers share one.
const CALLERS_MAX: usize = 10_000;

/// How long calls are counted before a record says how many were turned away.
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// What that record has for the name of a tool: none was looked for.
const ANY_TOOL: &str = "*";

/// The buckets of refusals.
pub(crate) struct RefusalLimit {
    begun: Instant,
    /// Until when anybody at all is turned away, in nanoseconds since `begun`; 0 for nobody.
    until_ns: AtomicU64,
    buckets: Mutex<Buckets>,
}

#[derive(Default)]
struct Buckets {
    /// By the caller's id; the empty one is shared.
    callers: HashMap<Arc<str>, Bucket>,
    /// True while somebody waits to report those that were turned away.
    is_reporting: bool,
}

/// One caller's bucket. Times are nanoseconds since the buckets were made.
#[derive(Default)]
struct Bucket {
    /// When it is full again.
    full_at_ns: u64,
    /// Until when its caller is turned away.
    until_ns: u64,
    /// The limit that it belongs to.
    limit: Arc<str>,
    /// The calls that were turned away and not reported, and whose.
    unreported: Option<(Caller, u64)>,
}

impl Default for RefusalLimit {
    fn default() -> RefusalLimit {
        RefusalLimit { begun: Instant::now(), until_ns: AtomicU64::new(0), buckets: Mutex::default() }
    }
}

impl RefusalLimit {
    /// Why a call is turned away that has just come, if it is. It is counted then, and the audit log will say so.
    pub(crate) fn turn_away(self: &Arc<Self>, caller: &Caller, audit_log: &Arc<AuditLog>) -> Option<Refusal> {
        if self.until_ns.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let (refusal, is_first) = self.turn_away_at(caller, self.now_ns())?;
        if is_first {
            let report = Report { limit: self.clone(), audit_log: audit_log.clone() };
            let later = async move {
                tokio::time::sleep(REPORT_EVERY).await;
                drop(report);
            };
            // Where nothing can wait, and when the program ends, it is reported at once.
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(later);
            }
        }
        Some(refusal)
    }

    /// Takes a refusal out of its caller's bucket.
    pub(crate) fn note(&self, caller: &Caller, rates: &Rates) {
        self.note_at(caller, rates, self.now_ns());
    }

    /// The refusal, and whether somebody must wait to report it.
    fn turn_away_at(&self, caller: &Caller, now_ns: u64) -> Option<(Refusal, bool)> {
        let until_ns = self.until_ns.load(Ordering::Relaxed);
        if until_ns <= now_ns {
            // Whoever is turned away in this very moment has written another number.
            let _ = self.until_ns.compare_exchange(until_ns, 0, Ordering::Relaxed, Ordering::Relaxed);
            return None;
        }
        let mut buckets = self.buckets();
        let id = if buckets.callers.contains_key(caller.id()) { caller.id() } else { "" };
        let refused = buckets.callers.get_mut(id).filter(|refused| refused.until_ns > now_ns)?;
        let retry_after_ms = (refused.until_ns - now_ns).div_ceil(1_000_000);
        refused.unreported.get_or_insert_with(|| (caller.clone(), 0)).1 += 1;
        let limit = refused.limit.clone();
        let is_first = !std::mem::replace(&mut buckets.is_reporting, true);
        Some((Refusal::RateLimited { retry_after_ms, limit }, is_first))
    }

    fn note_at(&self, caller: &Caller, rates: &Rates, now_ns: u64) {
        let Some(limit) = rates.of_refusals(caller.id()) else { return };
        let mut buckets = self.buckets();
        let id = buckets.room_for(caller.id(), now_ns);
        let refused = buckets.callers.entry(id).or_default();
        refused.full_at_ns = refused.full_at_ns.max(now_ns).saturating_add(limit.every_ns);
        let lacking_ns = refused.full_at_ns - now_ns;
        if lacking_ns > limit.lacking_max_ns {
            refused.until_ns = now_ns.saturating_add(lacking_ns - limit.lacking_max_ns);
            refused.limit = limit.name;
            self.until_ns.fetch_max(refused.until_ns, Ordering::Relaxed);
        }
    }

    /// Those that were turned away since the last time: whose calls, how many, by which limit.
    fn unreported(&self) -> Vec<(Caller, u64, Arc<str>)> {
        let mut buckets = self.buckets();
        buckets.is_reporting = false;
        let unreported = buckets.callers.values_mut().filter_map(|refused| {
            let (caller, count) = refused.unreported.take()?;
            Some((caller, count, refused.limit.clone()))
        });
        unreported.collect()
    }

    fn buckets(&self) -> MutexGuard<'_, Buckets> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

impl Buckets {
    /// By what a caller's bucket is buckets.
    fn room_for(&mut self, id: &Arc<str>, now_ns: u64) -> Arc<str> {
        if self.callers.len() >= CALLERS_MAX && !self.callers.contains_key(id) {
            self.callers.retain(|_, refused| refused.full_at_ns > now_ns || refused.unreported.is_some());
            if self.callers.len() >= CALLERS_MAX {
                return Arc::default();
            }
        }
        id.clone()
    }
}

/// Tells the audit log of those that were turned away, when it is dropped.
struct Report {
    limit: Arc<RefusalLimit>,
    audit_log: Arc<AuditLog>,
}

impl Drop for Report {
    fn drop(&mut self) {
        for (caller, count, limit) in self.limit.unreported() {
            self.audit_log.close(record(&caller, count, limit), None, None);
        }
    }
}

/// The record of calls that were turned away.
fn record(caller: &Caller, count: u64, limit: Arc<str>) -> Record {
    let effect = format!("{count} further calls turned away").into();
    Record {
        opening: Opening {
            call_id: CallId::next().to_string().into(),
            opened_at_ms: now_ms(),
            caller: caller.id().clone(),
            caller_kind: caller.kind().as_str().into(),
            via: caller.via().as_str().into(),
            tool: ANY_TOOL.into(),
            ..Opening::default()
        },
        verdicts: vec![(RATE, "refuse")].into(),
        decisions: vec![Decided { by: RATE, rule: limit, effect }],
        outcome: audit::Outcome::Refused,
        code: Some("rate_limited".into()),
        ..Record::default()
    }
}

#[cfg(test)]
mod tests {
    use policy::Via;

    use super::*;
    use crate::checks::RateConfig;

    const MS: u64 = 1_000_000;

    fn caller(id: &str) -> Caller {
        let (kind, roles) = (policy::CallerKind::Key, policy::Role::Agent.into());
        Caller::new(id.into(), kind, roles, policy::Scopes::all(), Via::Http)
    }

    #[test]
    fn ten_refusals_a_call_pass_and_then_their_caller_is_turned_away() {
        let refusals = RefusalLimit::default();
        let rates = Rates::from(RateConfig { per_second: 1, burst: 2 });
        let (ann, bob) = (caller("ann"), caller("bob"));
        for number in 0..20 {
            assert!(refusals.turn_away_at(&ann, 0).is_none(), "{number}");
            refusals.note_at(&ann, &rates, 0);
        }
        let away =
            |retry_after_ms| Some(Refusal::RateLimited { retry_after_ms, limit: "limits.rate".into() });
        let turned_away =
            |caller, at_ms| refusals.turn_away_at(caller, at_ms * MS).map(|(refusal, _)| refusal);
        assert_eq!(turned_away(&ann, 0), away(100));
        assert_eq!(turned_away(&ann, 99), away(1));
        assert_eq!(turned_away(&bob, 99), None, "each caller alone");
        assert_eq!(turned_away(&ann, 100), None);
        let reported: Vec<_> =
            refusals.unreported().into_iter().map(|(who, count, _)| (who.id().clone(), count)).collect();
        assert_eq!(reported, [(Arc::from("ann"), 2)]);
        assert!(refusals.unreported().is_empty());
        assert_eq!(refusals.until_ns.load(Ordering::Relaxed), 0, "and nobody pays for it any more");
        refusals.note_at(&ann, &rates, 100 * MS);
        assert_eq!(turned_away(&ann, 101), away(99));
    }

    #[test]
    fn who_has_no_limit_is_never_turned_away() {
        let refusals = RefusalLimit::default();
        let rates = Rates::from(RateConfig { per_second: 0, burst: 1 });
        (0..10_000).for_each(|_| refusals.note_at(&caller("ann"), &rates, 0));
        assert!(refusals.turn_away_at(&caller("ann"), 0).is_none());
    }

    #[test]
    fn there_is_room_for_so_many_and_the_rest_share() {
        let refusals = RefusalLimit::default();
        let rates = Rates::from(RateConfig { per_second: 1, burst: 1 });
        (0..CALLERS_MAX).for_each(|number| refusals.note_at(&caller(&number.to_string()), &rates, 0));
        (0..20).for_each(|_| refusals.note_at(&caller("one more"), &rates, 0));
        assert!(refusals.turn_away_at(&caller("another"), 0).is_some());
        assert!(refusals.turn_away_at(&caller("7"), 0).is_none(), "it has kept its own");
        assert_eq!(refusals.unreported().len(), 1);
        refusals.note_at(&caller("late"), &rates, 100_000 * MS);
        assert_eq!(refusals.buckets().callers.len(), 1, "those that have rested make room");
    }
}
