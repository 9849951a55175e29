//! What order means within a lane, and what no outbox may hold (I7).

use std::collections::BTreeMap;

use super::outside::{Place, Received};

/// What a receiver has got, by lane: url and entity or record; the versions in the order of their arrival.
pub fn by_lane(received: &[Received]) -> BTreeMap<(String, String), Vec<(u64, bool)>> {
    let mut lanes: BTreeMap<(String, String), Vec<(u64, bool)>> = BTreeMap::new();
    for one in received {
        let body = one.json();
        let data = body.get("data").unwrap_or(&body);
        let machine = data["machine"]
            .as_str()
            .map_or(String::new(), |machine| format!("{machine}/"));
        let lane = (
            one.url.clone(),
            format!("{machine}{}", data["id"].as_str().unwrap()),
        );
        let version = data["version"].as_u64().unwrap();
        lanes.entry(lane).or_default().push((version, one.accepted()));
    }
    lanes
}

/// Every version from `first` to `last` is there, none before the one below it was accepted or is over otherwise.
pub fn assert_in_order(place: &Place, received: &[Received], what: &str) {
    let over: BTreeMap<(String, u64), String> = place
        .outbox()
        .iter()
        .map(|row| {
            let id = (
                row["event_id"].as_str().unwrap().to_owned(),
                row["version"].as_u64().unwrap(),
            );
            (id, row["status"].as_str().unwrap().to_owned())
        })
        .collect();
    for (lane, seen) in by_lane(received) {
        let mut last = 0;
        for (place, (version, _)) in seen.iter().enumerate() {
            assert!(
                *version >= last,
                "{what}: {lane:?}: {version} after {last}: {seen:?}"
            );
            if *version > last && last > 0 {
                let before = &seen[..place];
                let accepted = before.iter().any(|(one, accepted)| *one == last && *accepted);
                let dead = over
                    .iter()
                    .any(|((_, version), status)| *version == last && status == "dead");
                assert!(accepted || dead, "{what}: {lane:?}: {last} is not over: {seen:?}");
                assert_eq!(*version, last + 1, "{what}: {lane:?}: one is left out: {seen:?}");
            }
            last = *version;
        }
    }
}

/// What no outbox may hold, each as rows that show it.
pub fn assert_lanes_are_whole(place: &Place, what: &str) {
    for (wrong, condition) in [
        (
            "two of a lane are due",
            "status = 'pending' AND due_at IS NOT NULL GROUP BY tenant, lane HAVING count(*) > 1",
        ),
        (
            "one is due behind another",
            "due_at IS NOT NULL AND EXISTS (SELECT 1 FROM outbox p WHERE p.tenant = outbox.tenant AND p.lane = outbox.lane \
             AND p.status = 'pending' AND (p.version, p.place) < (outbox.version, outbox.place)) GROUP BY id",
        ),
        (
            "a lane has nobody who is due or held",
            "status = 'pending' GROUP BY tenant, lane HAVING max(due_at IS NOT NULL OR held = 1) = 0",
        ),
        (
            "claimed, and not due back",
            "claimed = 1 AND due_at IS NULL GROUP BY id",
        ),
        (
            "claimed, and over",
            "claimed = 1 AND status <> 'pending' GROUP BY id",
        ),
    ] {
        let found = place.number(&format!(
            "SELECT count(*) FROM (SELECT 1 FROM outbox WHERE {condition})"
        ));
        assert_eq!(found, Some(0), "{what}: {wrong}");
    }
}
