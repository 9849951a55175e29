//! The cron trigger: passes of the scanner, one every interval, until the minute that it was fired for is over.

use statewright_engine::database::Clock as _;
use worker::{Env, ScheduledEvent};

use crate::{
    host::WorkerClock,
    log::{Entry, Level},
    service::Service,
    settings::Settings,
};

/// Cron fires every minute, at the finest.
const MINUTE_MS: i64 = 60_000;
/// Most passes of one invocation: each is a dozen statements, and D1 takes a thousand of an invocation.
const MOST_PASSES: u32 = 60;

/// Makes at least one pass. While more is due than a pass takes, the next one follows at once, as long as one is left
/// for each interval to come: no backlog puts the rest of the minute off.
pub(crate) async fn run(event: &ScheduledEvent, env: &Env) {
    let settings = Settings::of(env);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a time in milliseconds is far below 2^53"
    )]
    let over = (event.schedule() as i64).saturating_add(MINUTE_MS);
    let mut due = WorkerClock::read().0;
    for left in (0..MOST_PASSES).rev() {
        let more = pass(env, settings.level).await;
        let now = WorkerClock::read().0;
        let next = due.saturating_add_unsigned(settings.scan_interval_ms);
        let rest = u64::try_from(over.saturating_sub(next.max(now))).unwrap_or(0);
        let to_come = rest.div_ceil(settings.scan_interval_ms.max(1));
        if more && now < next.max(over) && u64::from(left) > to_come {
            continue;
        }
        due = next.max(now);
        if due >= over {
            return;
        }
        let wait = due.saturating_sub(now);
        WorkerClock.sleep(u64::try_from(wait).unwrap_or(0)).await;
    }
}

/// Gives whether more is due. A failed pass is logged; the next one starts afresh.
async fn pass(env: &Env, limit: Level) -> bool {
    let report = match Service::open(env).await {
        Ok(engine) => engine.tick().await,
        Err(error) => Err(error),
    };
    match report {
        Ok(report) => {
            let level = if report.failed > 0 || report.parked > 0 {
                Level::Warn
            } else if report.fired > 0 {
                Level::Info
            } else {
                Level::Debug
            };
            let shown = serde_json::to_value(&report).unwrap_or_default();
            Entry::new(level, "scan").with("report", shown).write(limit);
            report.more
        }
        Err(error) => {
            Entry::new(Level::Error, "scan")
                .with("error", error.to_string())
                .write(limit);
            false
        }
    }
}
