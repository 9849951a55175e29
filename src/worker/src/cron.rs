//! The cron trigger: passes of the scanner, one every interval, until the minute that it was fired for is over.

use statewright_core::ids::Millis;
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

/// Makes at least one pass.
pub(crate) async fn run(event: &ScheduledEvent, env: &Env) {
    let settings = Settings::of(env);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a time in milliseconds is far below 2^53"
    )]
    let over = Millis(event.schedule() as i64).0.saturating_add(MINUTE_MS);
    let mut due = WorkerClock::read().0;
    loop {
        pass(env, settings.level).await;
        due = due.saturating_add_unsigned(settings.scan_interval_ms);
        if due >= over {
            return;
        }
        let wait = due.saturating_sub(WorkerClock::read().0);
        WorkerClock.sleep(u64::try_from(wait).unwrap_or(0)).await;
    }
}

/// A failed pass is logged; the next one starts afresh.
async fn pass(env: &Env, limit: Level) {
    let report = match Service::open(env).await {
        Ok(engine) => engine.tick().await,
        Err(error) => Err(error),
    };
    match report {
        Ok(report) => {
            let level = if report.failed > 0 {
                Level::Warn
            } else if report.fired > 0 {
                Level::Info
            } else {
                Level::Debug
            };
            let report = serde_json::to_value(&report).unwrap_or_default();
            Entry::new(level, "scan").with("report", report).write(limit);
        }
        Err(error) => Entry::new(Level::Error, "scan")
            .with("error", error.to_string())
            .write(limit),
    }
}
