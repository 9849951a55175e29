//! What an operator sets, read from variables by name and checked against each other (S0.54 to S0.64, S2.123, S2.125).

use statewright_core::address::AllowList;

/// How effects are delivered, and what the ways in accept.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Whether state records are served: `PERSONALITIES` has `state` (S0.64).
    pub records: bool,
    /// `STATE_PERIOD`: milliseconds between two looks at the outbox (S0.56).
    pub period_ms: u64,
    /// `STATE_MAX_INFLIGHT`: how many effects a pass claims (S0.57).
    pub most_claimed: u32,
    /// `STATE_ACCEPT_TIMEOUT` in milliseconds (S0.58).
    pub accept_timeout_ms: u64,
    /// `STATE_STALE_AFTER` in milliseconds: when a claim that nobody marked is taken again (S0.60).
    pub stale_after_ms: u64,
    /// `STATE_MAX_ATTEMPTS`: counted presentations before one is dead (S0.61).
    pub most_presentations: u32,
    /// `STATE_RETENTION` in milliseconds (S0.62).
    pub retention_ms: u64,
    /// `STATE_MAX_DATA_BYTES` (S0.63).
    pub most_data_bytes: usize,
    /// `ACTION_RETRIES`: the waits between an action's tries, in milliseconds.
    pub action_retries_ms: Vec<u64>,
    /// `EVENT_CORE_INGEST_URL` (S2.123).
    pub event_core: String,
    /// `PLATFORM_API_URL` and `PLATFORM_API_KEY`, where there is a key (S2.125).
    pub platform: Option<(String, String)>,
    /// `WEBHOOK_ALLOW`: hosts that may be called whatever their address.
    pub allow: AllowList,
    /// `NODE_NAME`: who presents (S0.39).
    pub node: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            records: true,
            period_ms: 5_000,
            most_claimed: 32,
            accept_timeout_ms: 30_000,
            stale_after_ms: 300_000,
            most_presentations: 5,
            retention_ms: 2_592_000_000,
            most_data_bytes: 65_536,
            action_retries_ms: vec![
                500, 1_000, 2_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000,
            ],
            event_core: "http://localhost:3030/ingest".to_owned(),
            platform: None,
            allow: AllowList::default(),
            node: "statewright".to_owned(),
        }
    }
}

/// The seed's address of its platform (S2.125).
const PLATFORM: &str = "https://api.juicyapi.com";

impl Settings {
    /// Reads the variables. `variable` gives the text of one that is set and not empty.
    ///
    /// # Errors
    /// What is wrong, one sentence for each variable: out of its range, unreadable, or against another.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, Vec<String>> {
        let mut faults = Vec::new();
        let mut seconds = |name: &str, default: u64, most: u64| {
            let Some(text) = variable(name) else {
                return default;
            };
            match text.trim().parse::<u64>() {
                Ok(number) if (1..=most).contains(&number) => number,
                _ => {
                    faults.push(format!(
                        "{name} is `{text}`; a whole number from 1 to {most} is needed"
                    ));
                    default
                }
            }
        };
        let day = 86_400;
        let period = seconds("STATE_PERIOD", 5, 60);
        let claimed = seconds("STATE_MAX_INFLIGHT", 32, 100);
        let accept = seconds("STATE_ACCEPT_TIMEOUT", 30, 600);
        // An accepted presentation is over here: the ceiling on its run is the receiver's (S0.59).
        seconds("STATE_RUN_TIMEOUT", 600, day);
        let stale = seconds("STATE_STALE_AFTER", 300, day);
        let attempts = seconds("STATE_MAX_ATTEMPTS", 5, 100);
        let retention = seconds("STATE_RETENTION", 30 * day, 3650 * day);
        let data = seconds("STATE_MAX_DATA_BYTES", 65_536, 262_144);
        if stale <= accept {
            faults.push(format!(
                "STATE_STALE_AFTER is {stale} and STATE_ACCEPT_TIMEOUT is {accept}; the first must be above the second"
            ));
        }
        if let Some(store) = variable("STATE_STORE").filter(|store| store != "sqlite") {
            faults.push(format!("STATE_STORE is `{store}`; only `sqlite` is served"));
        }
        let mut settings = Self {
            period_ms: period.saturating_mul(1000),
            most_claimed: u32::try_from(claimed).unwrap_or(32),
            accept_timeout_ms: accept.saturating_mul(1000),
            stale_after_ms: stale.saturating_mul(1000),
            most_presentations: u32::try_from(attempts).unwrap_or(5),
            retention_ms: retention.saturating_mul(1000),
            most_data_bytes: usize::try_from(data).unwrap_or(65_536),
            ..Self::default()
        };
        if let Some(personalities) = variable("PERSONALITIES") {
            settings.records = personalities.split(',').any(|name| name.trim() == "state");
        }
        if let Some(text) = variable("ACTION_RETRIES") {
            match retries(&text) {
                Some(waits) => settings.action_retries_ms = waits,
                None => faults.push(format!(
                    "ACTION_RETRIES is `{text}`; up to 20 waits in seconds, separated by commas, each from 0.001 to 604800, are needed"
                )),
            }
        }
        if let Some(url) = variable("EVENT_CORE_INGEST_URL") {
            settings.event_core = url;
        }
        if let Some(key) = variable("PLATFORM_API_KEY") {
            let url = variable("PLATFORM_API_URL").unwrap_or_else(|| PLATFORM.to_owned());
            settings.platform = Some((url, key));
        }
        if let Some(allow) = variable("WEBHOOK_ALLOW") {
            settings.allow = AllowList::read(&allow);
        }
        if let Some(node) = variable("NODE_NAME") {
            settings.node = node;
        }
        if faults.is_empty() {
            Ok(settings)
        } else {
            Err(faults)
        }
    }
}

fn retries(text: &str) -> Option<Vec<u64>> {
    let waits: Option<Vec<u64>> = text
        .split(',')
        .map(|wait| {
            let seconds = statewright_core::float(wait.trim())?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it is within the range that is looked at"
            )]
            (0.001..=604_800.0)
                .contains(&seconds)
                .then_some((seconds * 1000.0) as u64)
        })
        .collect();
    waits.filter(|waits| (1..=20).contains(&waits.len()))
}
