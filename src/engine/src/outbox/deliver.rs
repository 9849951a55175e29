//! Delivery: claims are read, sent six at a time, and marked; lanes go on as they end (S0.42 to S0.53, I7).

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use statewright_core::ids::Millis;

use super::Claim;
use super::report::{Delivered, Told};
use super::send::{Delivery, Outcome, PLAIN, SIGNING, token_context};
use super::sql::{CLAIM_DUE, CLAIM_NEXT, CLAIM_THESE, DELIVERIES, MARK, SECRETS, TAKE_OVER, TOKENS};
use crate::Engine;
use crate::database::{Clock, Database, Random, Statement};
use crate::error::Error;
use crate::load::{decode, rows_of, text};
use crate::once::PURGE;
use crate::outbound::Outbound;
use crate::secrets::sealed_of;

/// How many are sent at once: the platform's connections of one invocation.
const MOST_IN_FLIGHT: usize = 6;
/// How many of those go to a sink that has accepted nothing by now.
const MOST_UNPROVEN: usize = 2;
/// How many claims are read at once.
const MOST_READ: usize = 32;
/// How long after a request's answer its effects are begun to be sent: the runtime ends what is left behind soon after.
const AFTER_REQUEST_MS: i64 = 8_000;
/// How long the first send of a request's effects may take, before the accept timeout (design 4).
const WITHIN_REQUEST_MS: u64 = 20_000;
/// How long what goes to a silent sink is put off, uncounted.
const SILENT_MS: i64 = 10_000;
/// Secrets and tokens that deliveries need, opened.
#[derive(Debug, Default)]
pub(super) struct Known {
    secrets: BTreeMap<(String, String), Result<Vec<String>, String>>,
    tokens: RefCell<BTreeMap<String, String>>,
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
    ready: VecDeque<(Delivery, std::rc::Rc<Known>)>,
    in_flight: Vec<Flight<'a>>,
    /// Rows to be tried again soon: when, tenant, id.
    soon: Vec<(Millis, String, String)>,
    /// Sinks that do not answer.
    silent: BTreeSet<String>,
    /// Sinks that have accepted something.
    proven: BTreeSet<String>,
    /// The sink behind which the next claims are looked for, and whether the round began there.
    after: String,
    wrapped: bool,
    report: Delivered,
}

struct Flight<'a> {
    sink: String,
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
    String,
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
        let now = self.clock.now();
        self.database
            .batch(vec![Statement::new(PURGE, [now.into()])])
            .await?;
        Ok(())
    }

    /// Takes over what a commit claimed for this process whose answer was lost. Where that fails, the claims run out.
    pub(crate) async fn take_over(&self, tenant: &str, prefix: &str) {
        let statement = Statement::new(TAKE_OVER, [tenant.into(), prefix.into()]);
        if let Ok(results) = self.database.batch(vec![statement]).await {
            self.claimed.borrow_mut().extend(claims_of(rows_of(&results, 0)));
        }
    }

    async fn pump(&self, claims: Vec<Claim>, bounds: Bounds) -> Delivered {
        let mut pump = Pump {
            bounds,
            queue: claims.into(),
            ready: VecDeque::new(),
            in_flight: Vec::new(),
            soon: Vec::new(),
            silent: BTreeSet::new(),
            proven: BTreeSet::new(),
            after: self.somewhere(),
            wrapped: false,
            report: Delivered::default(),
        };
        loop {
            let now = self.clock.now();
            let open = now.0 < bounds.until.0 && pump.report.statements < bounds.most_statements;
            self.fill(&mut pump, open).await;
            if open {
                self.begin(&mut pump);
            }
            if pump.in_flight.is_empty() {
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
            let sent = self.landed(&mut pump).await;
            self.mark(&mut pump, sent).await;
            pump.queue.extend(self.claimed.take());
        }
        // What was claimed and not begun goes back, uncounted.
        let left: Vec<Sent> = pump
            .ready
            .drain(..)
            .map(|(delivery, _)| Sent {
                delivery,
                outcome: Outcome::Postponed { wait_ms: 0 },
                at: self.clock.now(),
                took_ms: 0,
            })
            .collect();
        pump.report.more |= !left.is_empty() || !pump.queue.is_empty();
        self.mark(&mut pump, left).await;
        pump.report
    }

    /// A place to begin with among the sinks, so that no sink is always the last.
    fn somewhere(&self) -> String {
        const PLACES: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";
        let [a, b, ..] = self.random.bytes();
        let place = |byte: u8| char::from(PLACES.get(usize::from(byte & 31)).copied().unwrap_or(b'0'));
        [place(a), place(b)].iter().collect()
    }

    /// Claims what is to be sent next, and reads it.
    async fn fill(&self, pump: &mut Pump<'_>, open: bool) {
        let now = self.clock.now();
        if !open {
            return;
        }
        let due: Vec<(String, String)> = {
            let (due, later) = pump.soon.drain(..).partition(|(at, ..)| *at <= now);
            pump.soon = later;
            let due: Vec<(Millis, String, String)> = due;
            due.into_iter().map(|(_, tenant, id)| (tenant, id)).collect()
        };
        if !due.is_empty() {
            let params = [now.into(), self.stale(now).into(), text(&due)];
            let claims = self.claim(pump, Statement::new(CLAIM_THESE, params)).await;
            pump.queue.extend(claims);
        }
        while pump.bounds.refills && pump.queue.is_empty() && pump.ready.is_empty() {
            let silent: Vec<&String> = pump.silent.iter().collect();
            let params = [
                now.into(),
                self.stale(now).into(),
                i64::from(self.settings.most_claimed).into(),
                pump.after.as_str().into(),
                text(&silent),
            ];
            let before = pump.after.clone();
            let claims = self.claim(pump, Statement::new(CLAIM_DUE, params)).await;
            if claims.is_empty() {
                if pump.wrapped || before.is_empty() {
                    // Nothing is due from the first sink to the last.
                    pump.wrapped = false;
                    break;
                }
                pump.wrapped = true;
                pump.after = String::new();
                continue;
            }
            pump.wrapped = false;
            pump.queue.extend(claims);
        }
        while !pump.queue.is_empty() && pump.ready.len() < MOST_IN_FLIGHT {
            let claims: Vec<Claim> = pump.queue.drain(..pump.queue.len().min(MOST_READ)).collect();
            match self.read_deliveries(&claims).await {
                Ok((deliveries, known)) => {
                    let known = std::rc::Rc::new(known);
                    // The next claims are looked for behind the last of these sinks.
                    if let Some(last) = deliveries.iter().map(|delivery| &delivery.sink).max()
                        && pump.bounds.refills
                    {
                        pump.after.clone_from(last);
                    }
                    let deliveries = deliveries.into_iter();
                    pump.ready
                        .extend(deliveries.map(|delivery| (delivery, std::rc::Rc::clone(&known))));
                }
                // Their claims run out.
                Err(error) => pump.failed(&error.to_string(), claims.len()),
            }
            pump.report.statements = pump.report.statements.saturating_add(3);
        }
    }

    fn stale(&self, now: Millis) -> Millis {
        let stale = i64::try_from(self.settings.stale_after_ms).unwrap_or(i64::MAX);
        Millis(now.0.saturating_add(stale))
    }

    async fn claim(&self, pump: &mut Pump<'_>, statement: Statement) -> Vec<Claim> {
        pump.report.statements = pump.report.statements.saturating_add(1);
        match self.database.batch(vec![statement]).await {
            Ok(results) => claims_of(rows_of(&results, 0)),
            // Whether something was claimed is unknown: such claims run out.
            Err(error) => {
                pump.failed(&error.to_string(), 0);
                Vec::new()
            }
        }
    }

    async fn read_deliveries(&self, claims: &[Claim]) -> Result<(Vec<Delivery>, Known), Error> {
        let rows: Vec<_> = claims
            .iter()
            .map(|one| (&one.tenant, &one.id, one.fence))
            .collect();
        let rows = text(&rows);
        let statements = vec![
            Statement::new(DELIVERIES, [rows.clone()]),
            Statement::new(SECRETS, [rows.clone(), SIGNING.into()]),
            Statement::new(TOKENS, [rows]),
        ];
        let results = self.database.batch(statements).await?;
        let mut deliveries = Vec::new();
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
        Ok((deliveries, known))
    }

    /// Begins as many sends as there is room for, sparing sinks that do not answer.
    fn begin<'e>(&'e self, pump: &mut Pump<'e>) {
        let mut passed = VecDeque::new();
        while pump.in_flight.len() < MOST_IN_FLIGHT {
            let Some((delivery, known)) = pump.ready.pop_front() else {
                break;
            };
            if pump.silent.contains(&delivery.sink) {
                passed.push_back((delivery, known));
                continue;
            }
            let under_way = pump
                .in_flight
                .iter()
                .filter(|flight| flight.sink == delivery.sink)
                .count();
            if under_way >= MOST_UNPROVEN && !pump.proven.contains(&delivery.sink) {
                passed.push_back((delivery, known));
                continue;
            }
            let within_ms = pump.bounds.within_ms;
            pump.in_flight.push(Flight {
                sink: delivery.sink.clone(),
                future: Box::pin(self.one(delivery, known, within_ms)),
            });
        }
        passed.extend(pump.ready.drain(..));
        pump.ready = passed;
        // What goes to a silent sink is put off at once: it must not wait here for its claim to run out.
        let (silent, ready): (VecDeque<_>, VecDeque<_>) = pump
            .ready
            .drain(..)
            .partition(|(delivery, _)| pump.silent.contains(&delivery.sink));
        pump.ready = ready;
        for (delivery, _) in silent {
            let at = self.clock.now();
            let sink = delivery.sink.clone();
            let sent = Sent {
                delivery,
                outcome: Outcome::Postponed { wait_ms: SILENT_MS },
                at,
                took_ms: 0,
            };
            pump.in_flight.push(Flight {
                sink,
                future: Box::pin(std::future::ready(sent)),
            });
        }
    }

    async fn one(&self, delivery: Delivery, known: std::rc::Rc<Known>, within_ms: u64) -> Sent {
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
    async fn landed(&self, pump: &mut Pump<'_>) -> Vec<Sent> {
        let now = self.clock.now();
        let soonest = pump.soon.iter().map(|(at, ..)| at.0.saturating_sub(now.0)).min();
        let mut alarm: Option<Pin<Box<dyn Future<Output = ()> + '_>>> = match soonest {
            Some(wait) => Some(Box::pin(self.clock.sleep(u64::try_from(wait).unwrap_or(0)))),
            None => None,
        };
        let in_flight = &mut pump.in_flight;
        poll_fn(move |context| {
            let mut sent = Vec::new();
            let mut place = 0;
            while let Some(flight) = in_flight.get_mut(place) {
                match flight.future.as_mut().poll(context) {
                    Poll::Ready(done) => {
                        sent.push(done);
                        drop(in_flight.swap_remove(place));
                    }
                    Poll::Pending => place = place.saturating_add(1),
                }
            }
            if !sent.is_empty() {
                return Poll::Ready(sent);
            }
            match alarm.as_mut().map(|alarm| alarm.as_mut().poll(context)) {
                Some(Poll::Ready(())) => Poll::Ready(sent),
                _ => Poll::Pending,
            }
        })
        .await
    }

    /// Marks what became of deliveries, and claims what their lanes have got to.
    async fn mark(&self, pump: &mut Pump<'_>, sent: Vec<Sent>) {
        if sent.is_empty() {
            return;
        }
        let now = self.clock.now();
        let mut rows = Vec::with_capacity(sent.len());
        let mut lanes = Vec::new();
        for one in &sent {
            let (row, due) = self.marked(one, now);
            rows.push(row);
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
            match &one.outcome {
                Outcome::Accepted { .. } => {
                    pump.proven.insert(one.delivery.sink.clone());
                }
                silent if silent.is_silence() => {
                    pump.silent.insert(one.delivery.sink.clone());
                }
                _ => {}
            }
        }
        let open = now.0 < pump.bounds.until.0;
        let mut statements = vec![Statement::new(MARK, [text(&rows), now.into()])];
        if open {
            statements.push(Statement::new(
                CLAIM_NEXT,
                [now.into(), self.stale(now).into(), text(&lanes)],
            ));
        }
        pump.report.statements = pump.report.statements.saturating_add(statements.len());
        match self.database.batch(statements).await {
            Ok(results) => {
                pump.queue.extend(claims_of(rows_of(&results, 1)));
                for one in &sent {
                    pump.report.count(one);
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

impl Pump<'_> {
    /// The database failed: nothing more is claimed in this pass.
    fn failed(&mut self, error: &str, unmarked: usize) {
        self.report.unmarked = self.report.unmarked.saturating_add(unmarked);
        self.report.statements = self.bounds.most_statements;
        self.report.told.push(Told {
            outcome: "database",
            tenant: String::new(),
            id: String::new(),
            attempt: 0,
            error: Some(error.to_owned()),
        });
    }
}
