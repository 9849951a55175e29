//! Delivery: claims are read, sent six at a time, and marked; lanes go on as they end (S0.42 to S0.53, I7).

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};

use statewright_core::ids::Millis;
use statewright_core::sorted::{SortedMap, SortedSet};

use super::Claim;
use super::report::{Delivered, Told};
use super::send::{Delivery, Outcome, PLAIN, SIGNING, token_context};
use super::sql::{
    CLAIM_DUE, CLAIM_NEXT, CLAIM_THESE, DELIVERIES, DUE_TENANTS, GIVE_BACK, MARK, PUT_OFF, SECRETS,
    TAKE_OVER, TENANTS_PER_LOOK, TOKENS,
};
use crate::Engine;
use crate::database::{Clock, Database, Param, Random, Statement};
use crate::error::Error;
use crate::load::{decode, rows_of, text};
use crate::once::PURGE;
use crate::outbound::Outbound;
use crate::secrets::sealed_of;

/// How many are sent at once: the platform's connections of one invocation.
const MOST_IN_FLIGHT: usize = 6;
/// How many of those go to a sink that has accepted nothing by now.
const MOST_UNPROVEN: usize = 1;
/// How many go to all such sinks of a tenant; and how many once several of them have been silent.
const MOST_UNPROVEN_OF_TENANT: [usize; 2] = [6, 2];
/// How many silent sinks are several.
const SEVERAL: usize = 3;
/// How long a sink that did not answer is suspected not to. All of them together have one of the connections.
const SUSPECT_MS: i64 = 300_000;
/// How long what is claimed waits for such a sink, before it goes back.
const MOST_WAIT_MS: i64 = 1_000;
/// For how long it goes back, uncounted.
const PUT_OFF_MS: i64 = 5_000;
/// How long the next look for what is due is put off, where nothing was and something is still under way.
const LOOK_AGAIN_MS: i64 = 1_000;
/// How many deliveries are at hand at the most before others are looked for.
const MOST_AT_HAND: usize = 64;
/// How many claims are read at once.
const MOST_READ: usize = 32;
/// About how many bytes of effects are read at once; one is read in any case.
const MOST_READ_BYTES: i64 = 2 * 1024 * 1024;
/// How many rounds of upkeep one purge makes: what comes in a minute goes in one.
const ROUNDS_OF_UPKEEP: usize = 4;
/// How many claims are given back by one statement.
const MOST_GIVEN_BACK: usize = 1_000;
/// How long after a request's answer its effects are begun to be sent: the runtime ends what is left behind soon after.
const AFTER_REQUEST_MS: i64 = 8_000;
/// How long the first send of a request's effects may take, before the accept timeout (design 4).
const WITHIN_REQUEST_MS: u64 = 20_000;
/// How long what goes to a silent sink is put off, uncounted.
const SILENT_MS: i64 = 30_000;
/// Secrets and tokens that deliveries need, opened.
#[derive(Debug, Default)]
pub(super) struct Known {
    secrets: SortedMap<(String, String), Result<Vec<String>, String>>,
    tokens: RefCell<SortedMap<String, String>>,
}

impl Known {
    /// The live values of a secret, the current one first; none where there is no such secret.
    pub(super) fn secrets(&self, tenant: &str, name: &str) -> Result<Vec<String>, String> {
        let found = self.secrets.get(&(tenant.to_owned(), name.to_owned()));
        found.cloned().unwrap_or(Ok(Vec::new()))
    }

    /// The current value of a secret.
    pub(super) fn secret(&self, tenant: &str, name: &str) -> Result<Option<String>, String> {
        Ok(self.secrets(tenant, name)?.into_iter().next())
    }

    pub(super) fn token(&self, tenant: &str) -> Option<String> {
        self.tokens.borrow().get(tenant).cloned()
    }

    pub(super) fn forget_token(&self, tenant: &str) {
        self.tokens.borrow_mut().remove(tenant);
    }
}

/// How far a pump goes.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// When the last send begins.
    until: Millis,
    /// Whether it claims what is due, beyond what it was given.
    refills: bool,
    /// How long one answer may take.
    within_ms: u64,
    most_statements: usize,
}

/// What is under way.
struct Pump<'a> {
    bounds: Bounds,
    queue: VecDeque<Claim>,
    ready: VecDeque<(Delivery, Rc<Known>)>,
    in_flight: Vec<Flight<'a>>,
    /// What landed while others were marked.
    landed: Vec<Sent>,
    /// Rows to be tried again soon: when, tenant, id.
    soon: Vec<(Millis, String, String)>,
    /// Sinks that do not answer, by tenant.
    silent: SortedSet<(String, String)>,
    /// Sinks that have accepted something.
    proven: SortedSet<(String, String)>,
    /// The tenant behind which the next claims are looked for.
    after: String,
    /// Whether the look has come round to the first tenant again.
    wrapped: bool,
    /// When nothing was due.
    nothing_at: Option<Millis>,
    /// What the engine had run before.
    statements: usize,
    report: Delivered,
}

struct Flight<'a> {
    tenant: String,
    sink: String,
    since: Millis,
    future: Pin<Box<dyn Future<Output = Sent> + 'a>>,
}

/// A delivery that came to an end.
pub(super) struct Sent {
    pub(super) delivery: Delivery,
    pub(super) outcome: Outcome,
    /// When it began.
    pub(super) at: Millis,
    pub(super) took_ms: i64,
}

type DeliveryRow = (
    String,
    String,
    u64,
    String,
    String,
    String,
    String,
    u64,
    u64,
    Option<i64>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<u8>,
);

impl<D: Database, C: Clock, R: Random, O: Outbound> Engine<D, C, R, O> {
    /// Whether effects of this engine's commits are claimed for it.
    pub fn has_claimed(&self) -> bool {
        !self.claimed.borrow().is_empty()
    }

    /// Delivers the effects of this engine's commits, and what follows them in their lanes: to be run after the answer. Where
    /// it never is, their claims run out, and the scanner takes them (S0.48).
    pub async fn deliver_claimed(&self) -> Delivered {
        let claims = self.claimed.take();
        let bounds = Bounds {
            until: Millis(self.clock.now().0.saturating_add(AFTER_REQUEST_MS)),
            refills: false,
            within_ms: WITHIN_REQUEST_MS,
            most_statements: 400,
        };
        self.pump(claims, bounds).await
    }

    /// Delivers what is due, and what becomes due meanwhile, until nothing is, or until a time. No send begins later, and no more
    /// than about `most_statements` statements are run.
    ///
    /// # Errors
    /// The database failed before anything was claimed.
    pub async fn deliver_due(&self, until: Millis, most_statements: usize) -> Result<Delivered, Error> {
        let bounds = Bounds {
            until,
            refills: true,
            within_ms: u64::MAX,
            most_statements,
        };
        let claims = self.claimed.take();
        if !self.outbound.sends() {
            return Ok(Delivered::default());
        }
        let report = self.pump(claims, bounds).await;
        match report.told.first() {
            Some(Told {
                outcome: "database",
                error: Some(error),
                ..
            }) if report.done == 0 => Err(Error::Database(error.clone())),
            _ => Ok(report),
        }
    }

    /// Forgets what is past its time: terminal rows of the outbox (S0.52) and receipts (S4.100); bounded, to be called every
    /// minute or so.
    ///
    /// # Errors
    /// The database failed.
    pub async fn purge(&self) -> Result<(), Error> {
        for _ in 0..ROUNDS_OF_UPKEEP {
            self.upkeep().await?;
        }
        let now = self.clock.now();
        self.batch(vec![Statement::new(PURGE, [now.into()])]).await?;
        Ok(())
    }

    /// Takes over what a commit claimed for this process whose answer was lost. Where that fails, the claims run out.
    pub(crate) async fn take_over(&self, tenant: &str, prefix: &str) {
        let statement = Statement::new(TAKE_OVER, [tenant.into(), prefix.into()]);
        if let Ok(results) = self.batch(vec![statement]).await {
            self.claimed.borrow_mut().extend(claims_of(rows_of(&results, 0)));
        }
    }

    async fn pump(&self, claims: Vec<Claim>, bounds: Bounds) -> Delivered {
        let mut pump = Pump {
            bounds,
            queue: claims.into(),
            ready: VecDeque::new(),
            in_flight: Vec::new(),
            landed: Vec::new(),
            soon: Vec::new(),
            silent: SortedSet::new(),
            proven: SortedSet::new(),
            after: self.cache.stopped_at().unwrap_or_else(|| self.somewhere()),
            wrapped: false,
            nothing_at: None,
            statements: self.statements.get(),
            report: Delivered::default(),
        };
        loop {
            let now = self.clock.now();
            let open = self.is_open(&pump, now);
            if open {
                self.fill(&mut pump, now).await;
                let back = self.begin(&mut pump, now);
                self.mark(&mut pump, back).await;
            }
            if pump.in_flight.is_empty() && pump.landed.is_empty() {
                let next = pump.soon.iter().map(|(at, ..)| at.0).min();
                match next.filter(|at| open && *at < bounds.until.0) {
                    Some(at) => {
                        let wait = u64::try_from(at.saturating_sub(now.0)).unwrap_or(0);
                        if wait > 0 {
                            self.clock.sleep(wait).await;
                        }
                        continue;
                    }
                    None => break,
                }
            }
            self.land(&mut pump).await;
            pump.prove(0);
            let now = self.clock.now();
            if self.is_open(&pump, now) {
                // What is at hand is begun before what landed is marked: so it is under way meanwhile.
                let back = self.begin(&mut pump, now);
                pump.landed.extend(back);
            }
            let sent = std::mem::take(&mut pump.landed);
            self.mark(&mut pump, sent).await;
            pump.queue.extend(self.claimed.take());
        }
        if bounds.refills {
            self.cache.stop_at(std::mem::take(&mut pump.after));
        }
        self.give_back(&mut pump).await;
        pump.report.statements = self.run_since(&pump);
        pump.report
    }

    /// Since when what a delivery has to wait for is under way: as long as a sink has accepted nothing, few are sent to it at once,
    /// and few to all such sinks of a tenant; and to all that did not answer lately, whosever they are, one.
    fn waits_for(&self, pump: &Pump<'_>, sink: &(String, String), now: Millis) -> Option<Millis> {
        if pump.proven.contains(sink) {
            return None;
        }
        let key = |flight: &Flight<'_>| (flight.tenant.clone(), flight.sink.clone());
        let unproven = |flight: &&Flight<'_>| flight.tenant == sink.0 && !pump.proven.contains(&key(flight));
        let of_tenant = pump.in_flight.iter().filter(unproven);
        let of_sink = of_tenant.clone().filter(|flight| flight.sink == sink.1);
        if of_sink.clone().count() >= MOST_UNPROVEN {
            return of_sink.map(|flight| flight.since).min();
        }
        if !pump.bounds.refills {
            // A request's own effects hold nobody else's up.
            return None;
        }
        if self.cache.is_silent(sink, now.0) {
            let suspects = pump.in_flight.iter();
            let suspects = suspects.filter(|flight| self.cache.is_silent(&key(flight), now.0));
            return suspects.map(|flight| flight.since).min();
        }
        let silent = pump.silent.iter().filter(|(tenant, _)| *tenant == sink.0).count();
        let [most, most_if_troubled] = MOST_UNPROVEN_OF_TENANT;
        let most = if silent >= SEVERAL { most_if_troubled } else { most };
        // As long as one of them is young, there will be room soon.
        let full = of_tenant.clone().count() >= most;
        full.then(|| of_tenant.map(|flight| flight.since).max()).flatten()
    }

    /// Whether sends still begin.
    fn is_open(&self, pump: &Pump<'_>, now: Millis) -> bool {
        now.0 < pump.bounds.until.0 && self.run_since(pump) < pump.bounds.most_statements
    }

    /// How many statements this pass has run, with what its effects did.
    fn run_since(&self, pump: &Pump<'_>) -> usize {
        self.statements.get().saturating_sub(pump.statements)
    }

    /// What was claimed and not begun goes back, uncounted.
    async fn give_back(&self, pump: &mut Pump<'_>) {
        let now = self.clock.now();
        let ready = pump.ready.drain(..).map(|(delivery, _)| Claim {
            tenant: delivery.tenant,
            id: delivery.id,
            fence: delivery.claim,
        });
        let left: Vec<Claim> = ready.chain(pump.queue.drain(..)).collect();
        pump.report.more |= !left.is_empty();
        for some in left.chunks(MOST_GIVEN_BACK) {
            let statement = Statement::new(GIVE_BACK, [fences(some), now.into()]);
            // Where that fails, their claims run out.
            if self.batch(vec![statement]).await.is_err() {
                pump.report.unmarked = pump.report.unmarked.saturating_add(some.len());
            }
        }
    }

    /// A place to begin with among the tenants, so that no tenant is always the last.
    pub(crate) fn somewhere(&self) -> String {
        const PLACES: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";
        let [a, b, ..] = self.random.bytes();
        let place = |byte: u8| char::from(PLACES.get(usize::from(byte & 31)).copied().unwrap_or(b'0'));
        [place(a), place(b)].iter().collect()
    }

    /// Claims what is to be sent next, and reads it.
    async fn fill(&self, pump: &mut Pump<'_>, now: Millis) {
        let (due, later): (Vec<_>, Vec<_>) = pump.soon.drain(..).partition(|(at, ..)| *at <= now);
        pump.soon = later;
        if !due.is_empty() {
            let due: Vec<_> = due.iter().map(|(_, tenant, id)| (tenant, id)).collect();
            let params = [now.into(), self.stale(now).into(), text(&due)];
            let claims = self.claim(pump, Statement::new(CLAIM_THESE, params)).await;
            pump.queue.extend(claims);
        }
        if pump.bounds.refills && pump.queue.is_empty() && self.runs_short(pump, now) {
            self.look_for_due(pump, now).await;
        }
        while !pump.queue.is_empty() && self.runs_short(pump, now) {
            let claims: Vec<Claim> = pump.queue.drain(..pump.queue.len().min(MOST_READ)).collect();
            match self.read_deliveries(&claims).await {
                Ok((deliveries, known, left_out)) => {
                    pump.queue.extend(left_out);
                    let known = Rc::new(known);
                    let deliveries = deliveries.into_iter();
                    pump.ready
                        .extend(deliveries.map(|delivery| (delivery, Rc::clone(&known))));
                }
                // Their claims run out.
                Err(error) => pump.failed(&error.to_string(), claims.len()),
            }
        }
    }

    /// Whether few deliveries are at hand that can begin. What waits for a sink that does not answer must not keep others from
    /// being looked for.
    fn runs_short(&self, pump: &Pump<'_>, now: Millis) -> bool {
        let can_begin = |(delivery, _): &&(Delivery, Rc<Known>)| {
            let sink = (delivery.tenant.clone(), delivery.sink.clone());
            self.waits_for(pump, &sink, now).is_none()
        };
        pump.ready.len() < MOST_IN_FLIGHT
            || pump.ready.len() < MOST_AT_HAND && pump.ready.iter().filter(can_begin).count() < MOST_IN_FLIGHT
    }

    /// Looks for what is due, tenant by tenant, until it has claimed something or come round.
    async fn look_for_due(&self, pump: &mut Pump<'_>, now: Millis) {
        let waits = pump
            .nothing_at
            .is_some_and(|at| now.0 < at.0.saturating_add(LOOK_AGAIN_MS));
        if waits && !pump.in_flight.is_empty() {
            return;
        }
        pump.nothing_at = None;
        let most = self.settings.most_claimed;
        loop {
            let began = pump.after.is_empty();
            let look = Statement::new(DUE_TENANTS, [now.into(), pump.after.as_str().into()]);
            let rows = match self.batch(vec![look]).await {
                Ok(results) => results.into_iter().next().unwrap_or_default(),
                Err(error) => return pump.failed(&error.to_string(), 0),
            };
            let mut due: Vec<String> = Vec::new();
            let mut whole = true;
            for row in &rows {
                let Ok((tenant, is_due)) = decode::<(String, u8)>(row) else {
                    continue;
                };
                pump.after.clone_from(&tenant);
                if is_due == 1 {
                    due.push(tenant);
                }
                if due.len() >= usize::try_from(most).unwrap_or(1) {
                    whole = false;
                    break;
                }
            }
            if whole && rows.len() < TENANTS_PER_LOOK {
                pump.after.clear();
            }
            if !due.is_empty() {
                let params = [
                    now.into(),
                    self.stale(now).into(),
                    i64::from(most).into(),
                    text(&due),
                ];
                let claims = self.claim(pump, Statement::new(CLAIM_DUE, params)).await;
                if !claims.is_empty() {
                    pump.wrapped = false;
                    return pump.queue.extend(claims);
                }
            }
            if pump.after.is_empty() && (began || pump.wrapped) {
                // Nothing is due from the first tenant to the last.
                pump.wrapped = false;
                pump.nothing_at = Some(now);
                return;
            }
            pump.wrapped |= pump.after.is_empty();
            if self.run_since(pump) >= pump.bounds.most_statements {
                return;
            }
        }
    }

    fn stale(&self, now: Millis) -> Millis {
        let stale = i64::try_from(self.settings.stale_after_ms).unwrap_or(i64::MAX);
        Millis(now.0.saturating_add(stale))
    }

    async fn claim(&self, pump: &mut Pump<'_>, statement: Statement) -> Vec<Claim> {
        match self.batch(vec![statement]).await {
            Ok(results) => claims_of(rows_of(&results, 0)),
            // Whether something was claimed is unknown: such claims run out.
            Err(error) => {
                pump.failed(&error.to_string(), 0);
                Vec::new()
            }
        }
    }

    /// The deliveries of claims that stand, as far as they fit one read, with what they need, and the claims that did not fit.
    async fn read_deliveries(&self, claims: &[Claim]) -> Result<(Vec<Delivery>, Known, Vec<Claim>), Error> {
        let rows = fences(claims);
        let statements = vec![
            Statement::new(DELIVERIES, [rows.clone(), MOST_READ_BYTES.into()]),
            Statement::new(SECRETS, [rows.clone(), SIGNING.into()]),
            Statement::new(TOKENS, [rows]),
        ];
        let results = self.batch(statements).await?;
        let mut deliveries = Vec::new();
        let mut left_out = Vec::new();
        for row in rows_of(&results, 0) {
            let row: DeliveryRow = decode(row)?;
            let (
                tenant,
                id,
                claim,
                event_id,
                kind,
                lane,
                sink,
                attempt,
                tries,
                denied_since,
                effect,
                subscription,
                subscribed,
                active,
            ) = row;
            let Some(effect) = effect else {
                left_out.push(Claim {
                    tenant,
                    id,
                    fence: claim,
                });
                continue;
            };
            deliveries.push(Delivery {
                tenant,
                id,
                claim,
                event_id,
                kind,
                lane,
                sink,
                attempt,
                tries,
                denied_since,
                effect,
                subscription,
                subscribed,
                active: active == Some(1),
            });
        }
        let mut known = Known::default();
        for sealed in sealed_of(rows_of(&results, 1))? {
            let values = self.open_secret(&sealed).await.map_err(|error| error.to_string());
            known.secrets.insert((sealed.tenant, sealed.name), values);
        }
        for row in rows_of(&results, 2) {
            let (tenant, sealed): (String, String) = decode(row)?;
            let token = match sealed.strip_prefix(PLAIN) {
                Some(token) => Some(token.to_owned()),
                // One that cannot be opened is asked for again.
                None => self.outbound.open(&token_context(&tenant), &sealed).await.ok(),
            };
            if let Some(token) = token {
                known.tokens.borrow_mut().insert(tenant, token);
            }
        }
        Ok((deliveries, known, left_out))
    }

    /// Begins as many sends as there is room for, sparing sinks that do not answer. Gives what goes back.
    fn begin<'e>(&'e self, pump: &mut Pump<'e>, now: Millis) -> Vec<Sent> {
        let mut passed = VecDeque::new();
        let mut back = Vec::new();
        while let Some((delivery, known)) = pump.ready.pop_front() {
            let sink = (delivery.tenant.clone(), delivery.sink.clone());
            let postponed = if pump.silent.contains(&sink) {
                Some(SILENT_MS)
            } else {
                let waits = self.waits_for(pump, &sink, now);
                let long = |since: Millis| now.0.saturating_sub(since.0) > MOST_WAIT_MS;
                waits.and_then(|since| long(since).then_some(PUT_OFF_MS))
            };
            if let Some(wait_ms) = postponed {
                pump.report.more = true;
                // It must not wait here for its claim to run out.
                back.push(Sent {
                    delivery,
                    outcome: Outcome::Postponed { wait_ms },
                    at: now,
                    took_ms: 0,
                });
            } else if pump.in_flight.len() >= MOST_IN_FLIGHT || self.waits_for(pump, &sink, now).is_some() {
                passed.push_back((delivery, known));
            } else {
                let within_ms = pump.bounds.within_ms;
                let (tenant, sink) = sink;
                pump.in_flight.push(Flight {
                    tenant,
                    sink,
                    since: now,
                    future: Box::pin(self.one(delivery, known, within_ms)),
                });
            }
        }
        pump.ready = passed;
        back
    }

    async fn one(&self, delivery: Delivery, known: Rc<Known>, within_ms: u64) -> Sent {
        let at = self.clock.now();
        let limit = self.limit(&delivery);
        // Claims that nobody marked count too: what kills whoever sends it must come to an end (S0.49).
        let outcome = if delivery.tries > limit {
            Outcome::Dead {
                error: format!("{limit} tries failed or were abandoned"),
            }
        } else {
            self.send_one(&delivery, &known, within_ms).await
        };
        let took_ms = self.clock.now().0.saturating_sub(at.0);
        Sent {
            delivery,
            outcome,
            at,
            took_ms,
        }
    }

    /// Waits until something has landed, or is to be tried again.
    async fn land(&self, pump: &mut Pump<'_>) {
        if !pump.landed.is_empty() {
            return;
        }
        let now = self.clock.now();
        let mut soonest = pump.soon.iter().map(|(at, ..)| at.0.saturating_sub(now.0)).min();
        // What waits behind a sink that is slow goes back in time.
        let room = pump.in_flight.len() < MOST_IN_FLIGHT;
        if !pump.ready.is_empty() || (pump.bounds.refills && room) {
            soonest = Some(soonest.map_or(MOST_WAIT_MS, |wait| wait.min(MOST_WAIT_MS)));
        }
        // Nothing begins any more: there is nothing to wake for.
        let soonest = soonest.filter(|_| self.is_open(pump, now));
        let mut alarm: Option<Pin<Box<dyn Future<Output = ()> + '_>>> = match soonest {
            Some(wait) => Some(Box::pin(self.clock.sleep(u64::try_from(wait).unwrap_or(0)))),
            None => None,
        };
        let (in_flight, landed) = (&mut pump.in_flight, &mut pump.landed);
        poll_fn(move |context| {
            poll_flights(in_flight, landed, context);
            if !landed.is_empty() {
                return Poll::Ready(());
            }
            match alarm.as_mut().map(|alarm| alarm.as_mut().poll(context)) {
                Some(Poll::Ready(())) => Poll::Ready(()),
                _ => Poll::Pending,
            }
        })
        .await;
    }

    /// Marks what became of deliveries, and claims what their lanes have got to.
    async fn mark<'e>(&'e self, pump: &mut Pump<'e>, sent: Vec<Sent>) {
        if sent.is_empty() {
            return;
        }
        let now = self.clock.now();
        let mut rows = Vec::with_capacity(sent.len());
        let mut lanes = Vec::new();
        let mut put_off: SortedMap<(String, String), i64> = SortedMap::new();
        let mut ended = Vec::with_capacity(sent.len());
        for one in &sent {
            let (row, due) = self.marked(one, now);
            rows.push(row);
            ended.push(due.is_none());
            match (&one.outcome, due) {
                (Outcome::Accepted { .. } | Outcome::Dead { .. } | Outcome::Skipped, _) | (_, None) => {
                    lanes.push((&one.delivery.tenant, &one.delivery.lane));
                }
                // What was silent is for a later pass.
                (Outcome::Failed { silent: false, .. }, Some(due)) => {
                    let Delivery { tenant, id, .. } = &one.delivery;
                    pump.soon.push((due, tenant.clone(), id.clone()));
                }
                _ => {}
            }
            let sink = || (one.delivery.tenant.clone(), one.delivery.sink.clone());
            match &one.outcome {
                Outcome::Accepted { .. } => {
                    self.cache.remember(sink(), None);
                    pump.proven.insert(sink());
                }
                silent if silent.is_silence() && pump.silent.insert(sink()) => {
                    let until = now.0.saturating_add(SUSPECT_MS);
                    self.cache.remember(sink(), Some(until));
                    put_off.insert(sink(), SILENT_MS);
                }
                // Whoever takes nothing now may take nothing of others either: it is not asked at once for each.
                Outcome::Denied { wait_ms, .. } => {
                    put_off.insert(sink(), (*wait_ms).min(PUT_OFF_MS));
                }
                // What else is due for a sink that fell silent is found by and by.
                Outcome::Postponed { wait_ms: SILENT_MS } => drop(put_off.insert(sink(), SILENT_MS)),
                _ => {}
            }
        }
        let mut statements = vec![Statement::new(MARK, [text(&rows), now.into()])];
        if now.0 < pump.bounds.until.0 {
            statements.push(Statement::new(
                CLAIM_NEXT,
                [now.into(), self.stale(now).into(), text(&lanes)],
            ));
        }
        if pump.bounds.refills {
            // What else is due for them would be claimed for nothing.
            statements.extend(put_off.into_iter().map(|((tenant, sink), wait)| {
                let until = Millis(now.0.saturating_add(wait));
                Statement::new(PUT_OFF, [tenant.into(), now.into(), sink.into(), until.into()])
            }));
        }
        // Those under way go on meanwhile, and others begin where they land.
        let mut batch = pin!(self.batch(statements));
        let marked = poll_fn(|context| {
            loop {
                let before = pump.landed.len();
                poll_flights(&mut pump.in_flight, &mut pump.landed, context);
                if pump.landed.len() == before {
                    return batch.as_mut().poll(context);
                }
                pump.prove(before);
                let now = self.clock.now();
                if self.is_open(pump, now) {
                    let back = self.begin(pump, now);
                    pump.landed.extend(back);
                }
            }
        });
        match marked.await {
            Ok(results) => {
                pump.queue.extend(claims_of(rows_of(&results, 1)));
                for (one, ended) in sent.iter().zip(ended) {
                    pump.report.count(one, ended);
                }
            }
            // Their claims run out, and they are presented again (S0.45).
            Err(error) => {
                pump.report.unmarked = pump.report.unmarked.saturating_add(sent.len());
                pump.failed(&error.to_string(), 0);
            }
        }
    }
}

fn claims_of(rows: &[String]) -> Vec<Claim> {
    let claims = rows.iter().filter_map(|row| decode(row).ok());
    claims
        .map(|(tenant, id, claim): (String, String, u64)| Claim {
            tenant,
            id,
            fence: claim,
        })
        .collect()
}

/// Polls what is under way, and takes out what has landed.
fn poll_flights(in_flight: &mut Vec<Flight<'_>>, landed: &mut Vec<Sent>, context: &mut Context<'_>) {
    let mut place = 0;
    while let Some(flight) = in_flight.get_mut(place) {
        match flight.future.as_mut().poll(context) {
            Poll::Ready(done) => {
                landed.push(done);
                drop(in_flight.swap_remove(place));
            }
            Poll::Pending => place = place.saturating_add(1),
        }
    }
}

fn fences(claims: &[Claim]) -> Param {
    let rows: Vec<_> = claims
        .iter()
        .map(|one| (&one.tenant, &one.id, one.fence))
        .collect();
    text(&rows)
}

impl Pump<'_> {
    /// Notes which sinks have accepted something, of what landed from a place on.
    fn prove(&mut self, from: usize) {
        for one in self.landed.iter().skip(from) {
            if matches!(one.outcome, Outcome::Accepted { .. }) {
                let delivery = &one.delivery;
                self.proven
                    .insert((delivery.tenant.clone(), delivery.sink.clone()));
            }
        }
    }

    /// The database failed: nothing more is claimed in this pass.
    fn failed(&mut self, error: &str, unmarked: usize) {
        self.report.unmarked = self.report.unmarked.saturating_add(unmarked);
        self.bounds.most_statements = 0;
        self.report.told.push(Told {
            outcome: "database",
            tenant: String::new(),
            id: String::new(),
            attempt: 0,
            error: Some(error.to_owned()),
        });
    }
}
