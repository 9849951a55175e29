//! The cron trigger: passes over due timers, one every interval, and looks at the outbox, one every period, until the minute
//! that it was fired for is over.
//!
//! The two go on beside each other: an effect whose receiver takes its time puts no timer off.

use std::{cell::Cell, future::poll_fn, pin::pin, task::Poll};

use statewright_core::ids::Millis;
use statewright_engine::{database::Clock as _, error::Error, scanner::ScanReport};
use statewright_service::{
    Service,
    log::{Entry, Level, Log},
    tell,
};
use worker::ScheduledEvent;

/// Cron fires every minute, at the finest.
const MINUTE_MS: i64 = 60_000;
/// Most passes over timers of one invocation.
const MOST_PASSES: u32 = 60;
/// Most statements of one invocation: D1 takes a thousand.
const MOST_STATEMENTS: usize = 950;
/// Most of them that go to the outbox.
const MOST_FOR_OUTBOX: usize = 800;
/// What is kept for each pass over timers that is to come.
const FOR_A_PASS: usize = 12;
/// With fewer statements than these, a look at the outbox does not begin.
const FOR_A_LOOK: usize = 16;

/// One invocation.
struct Minute<'a> {
    service: &'a Service,
    /// When it is over.
    over: i64,
    /// Statements that may still be run.
    left: Cell<usize>,
    /// Those of them that may go to the outbox.
    for_outbox: Cell<usize>,
}

/// Makes at least one pass over the timers, and looks at the outbox at least once.
pub(crate) async fn run(event: &ScheduledEvent, service: &Service) {
    if let Err(faults) = &service.settings().service {
        let faults = Error::Misconfigured(faults.clone()).to_string();
        return failed(&faults, "scan", service.log());
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a time in milliseconds is far below 2^53"
    )]
    let over = (event.schedule() as i64).saturating_add(MINUTE_MS);
    let minute = Minute {
        service,
        over,
        left: Cell::new(MOST_STATEMENTS),
        for_outbox: Cell::new(MOST_FOR_OUTBOX),
    };
    both(minute.timers(), minute.outbox()).await;
}

/// Waits for both.
async fn both(one: impl Future<Output = ()>, other: impl Future<Output = ()>) {
    let (mut one, mut other) = (pin!(one), pin!(other));
    let mut over = (false, false);
    poll_fn(|context| {
        over.0 = over.0 || one.as_mut().poll(context).is_ready();
        over.1 = over.1 || other.as_mut().poll(context).is_ready();
        if over == (true, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

impl Minute<'_> {
    /// While more is due than a pass takes, the next one follows at once, as long as one is left for each interval to come: no
    /// backlog puts the rest of the minute off.
    async fn timers(&self) {
        let interval = self.service.settings().scan_interval_ms;
        let mut due = self.service.clock().read().0;
        for left in (0..MOST_PASSES).rev() {
            let more = self.pass().await;
            let now = self.service.clock().read().0;
            let next = due.saturating_add_unsigned(interval);
            let to_come = self.passes_after(next.max(now));
            let affordable = self.left.get() / FOR_A_PASS;
            if more && now < next.max(self.over) && u64::from(left) > to_come && affordable as u64 > to_come {
                continue;
            }
            due = next.max(now);
            if due >= self.over || affordable == 0 {
                return;
            }
            self.sleep_until(due).await;
        }
    }

    /// How many passes over timers begin from then on.
    fn passes_after(&self, time: i64) -> u64 {
        let rest = u64::try_from(self.over.saturating_sub(time)).unwrap_or(0);
        rest.div_ceil(self.service.settings().scan_interval_ms.max(1))
    }

    /// Gives whether more is due. A failed pass is logged; the next one starts afresh.
    async fn pass(&self) -> bool {
        let log = self.service.log();
        let report = match self.service.open().await {
            Ok(engine) => {
                let report = engine.tick().await;
                self.left.set(self.left.get().saturating_sub(engine.statements()));
                report
            }
            Err(error) => Err(error),
        };
        match report {
            Ok(report) => {
                let shown = serde_json::to_value(&report).unwrap_or_default();
                Entry::new(gravity(&report), "scan")
                    .with("report", shown)
                    .write(log);
                report.more
            }
            Err(error) => {
                failed(&error.to_string(), "scan", log);
                false
            }
        }
    }

    /// Looks at the outbox, at least once, and again each period; at once while more is due.
    async fn outbox(&self) {
        let period = self.service.settings().period_ms();
        let mut first = true;
        loop {
            let began = self.service.clock().read().0;
            // The minute that is over already was asked for by hand: one look.
            let until = self.over.max(began.saturating_add_unsigned(period));
            let reserved = usize::try_from(self.passes_after(began)).unwrap_or(0) * FOR_A_PASS;
            // Half of what is there, so that neither timers nor effects use all of it up at once.
            let granted = (self.left.get().saturating_sub(reserved) / 2).min(self.for_outbox.get());
            if granted < FOR_A_LOOK {
                return;
            }
            let more = self.look(Millis(until), granted, first).await;
            first = false;
            let now = self.service.clock().read().0;
            let next = if more {
                now
            } else {
                began.saturating_add_unsigned(period).max(now)
            };
            if next >= self.over {
                return;
            }
            self.sleep_until(next).await;
        }
    }

    async fn sleep_until(&self, time: i64) {
        let clock = self.service.clock();
        let wait = time.saturating_sub(clock.read().0);
        clock.sleep(u64::try_from(wait).unwrap_or(0)).await;
    }

    /// Delivers what is due. Gives whether more is.
    async fn look(&self, until: Millis, granted: usize, first: bool) -> bool {
        let log = self.service.log();
        self.left.set(self.left.get().saturating_sub(granted));
        let mut ran = 0;
        let report = match self.service.open().await {
            Ok(engine) => {
                let report = engine.deliver_due(until, granted).await;
                if first && let Err(error) = engine.purge().await {
                    failed(&error.to_string(), "purge", log);
                }
                ran = engine.statements();
                report
            }
            Err(error) => Err(error),
        };
        self.left
            .set(self.left.get().saturating_add(granted).saturating_sub(ran));
        self.for_outbox.set(self.for_outbox.get().saturating_sub(ran));
        match report {
            Ok(report) => {
                tell(&report, log);
                report.more
            }
            Err(error) => {
                failed(&error.to_string(), "outbox", log);
                false
            }
        }
    }
}

fn gravity(report: &ScanReport) -> Level {
    if report.failed > 0 || report.parked > 0 {
        Level::Warn
    } else if report.fired > 0 {
        Level::Info
    } else {
        Level::Debug
    }
}

fn failed(error: &str, what: &str, log: &Log) {
    Entry::new(Level::Error, what).with("error", error).write(log);
}
