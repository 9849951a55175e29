//! A family with children of every kind, and what no database may hold of its trees.

use serde_json::{Value, json};

use super::families::{chain, shop};

/// A root with regions whose children are of every kind, over chains with the same.
pub fn mixed(reentry: &str) -> Vec<Value> {
    let managed = |machine: &str, target: &str, reentry: &str| {
        json!({"machine_id": machine, "lifecycle": "managed",
        "on_final": {"done": target}, "reentry": reentry})
    };
    let mut all = chain(2, reentry);
    all.extend(shop());
    all.push(
        json!({"machine_id": "mid", "states": ["m0", "m1", "done"], "initial_state": "m0", "transitions": [
            {"from": "m0", "to": "m1", "on": "step"}, {"from": "m1", "to": "m0", "on": "back"},
            {"from": "m1", "to": "m1", "on": "note"}, {"from": "m1", "to": "done", "on": "stop"},
            {"from": "m1", "to": "m0", "on": "$timeout", "guard": {"timeout_seconds": 25}}],
        "sub_machines": {"m1": managed("leaf", "done", reentry)}}),
    );
    all.push(json!({"machine_id": "root", "broadcast": ["all"],
        "regions": [
            {"id": "x", "states": ["x0", "x1", "x2"], "initial_state": "x0",
                "sub_machines": {"x1": managed("mid", "x2", "resume")}},
            {"id": "y", "states": ["y0", "y1", "y2"], "initial_state": "y1",
                "sub_machines": {"y1": managed("l0", "y2", "fresh")}},
            {"id": "z", "states": ["z0", "z1", "z2"], "initial_state": "z0",
                "sub_machines": {"z1": {"machine_id": "shop", "on_final": {"shipped": "z2"}}}}],
        "transitions": [
            {"region": "x", "from": "x0", "to": "x1", "on": "go"}, {"region": "x", "from": "x1", "to": "x0", "on": "drop"},
            {"region": "x", "from": "x2", "to": "x0", "on": "back"}, {"region": "x", "from": "x1", "to": "x1", "on": "all"},
            {"region": "y", "from": "y1", "to": "y0", "on": "drop"}, {"region": "y", "from": "y0", "to": "y1", "on": "go"},
            {"region": "y", "from": "y2", "to": "y1", "on": "again"}, {"region": "y", "from": "y1", "to": "y0", "on": "all"},
            {"region": "z", "from": "z0", "to": "z1", "on": "go"}, {"region": "z", "from": "z1", "to": "z0", "on": "back"},
            {"region": "z", "from": "z2", "to": "z0", "on": "back"},
            {"region": "z", "from": "z1", "to": "z0", "on": "$timeout", "guard": {"timeout_seconds": 40}}],
        "joins": [{"when": {"x": "x2", "y": "y2"}, "target_region": "z", "target_state": "z1"}]}));
    all
}

/// What no database may hold, each as the rows that show it.
pub fn wrongs(family: &[Value]) -> Vec<(&'static str, String)> {
    let regions: Vec<Value> = family
        .iter()
        .map(|machine| {
            json!([
                machine["machine_id"],
                machine["regions"].as_array().map_or(1, Vec::len)
            ])
        })
        .collect();
    let regions = json!(regions).to_string();
    let mut compounds = Vec::new();
    for machine in family {
        let of = |region: &Value, id: &str| -> Vec<Value> {
            let subs = region["sub_machines"].as_object().into_iter().flatten();
            subs.filter(|(_, sub)| sub["lifecycle"] == "managed")
                .map(|(state, _)| json!([machine["machine_id"], id, state]))
                .collect()
        };
        compounds.extend(of(machine, "_"));
        for region in machine["regions"].as_array().into_iter().flatten() {
            compounds.extend(of(region, region["id"].as_str().unwrap()));
        }
    }
    let compounds = json!(compounds).to_string();
    let sleeps = "(i.status = 'active' OR i.cancelled_with IS NOT NULL)";
    let latest = "i.first_seq = (SELECT max(o.first_seq) FROM instances o WHERE o.parent_uid = i.parent_uid AND o.region = \
        i.region AND o.state = i.state)";
    let parent_known = "NOT EXISTS (SELECT 1 FROM instances p WHERE p.uid = i.parent_uid AND p.status <> 'active' AND \
        p.cancelled_with IS NULL)";
    vec![
        ("I4: an entry for each region", format!("json_each('{regions}') m CROSS JOIN entities e ON e.machine_id = \
            m.value->>0 WHERE (SELECT count(*) FROM entries n WHERE n.uid = e.uid) <> m.value->>1")),
        ("I5: no timer of what ended", "instances i CROSS JOIN entries n ON n.uid = i.uid WHERE i.status <> 'active' AND \
            (n.wake_at IS NOT NULL OR n.due_at IS NOT NULL OR n.parked IS NOT NULL)".to_owned()),
        ("I6: nothing lives below what ended", "instances i CROSS JOIN instances p ON p.uid = i.parent_uid WHERE i.status = \
            'active' AND p.status <> 'active'".to_owned()),
        ("I6: a live managed child's parent is in its state", "instances i WHERE i.status = 'active' AND i.kind = 'managed' \
            AND NOT EXISTS (SELECT 1 FROM entries n WHERE n.uid = i.parent_uid AND n.region = i.region AND n.state = i.state \
            AND n.seq = i.seq)".to_owned()),
        ("R2: a live entity in a managed state has its live child", format!("json_each('{compounds}') c CROSS JOIN entries n \
            ON n.tenant = 't1' AND n.machine_id = c.value->>0 AND n.region = c.value->>1 AND n.state = c.value->>2 WHERE \
            NOT EXISTS (SELECT 1 FROM instances s WHERE s.uid = n.uid AND s.status <> 'active') AND (SELECT count(*) FROM \
            instances i WHERE i.parent_uid = n.uid AND i.region = n.region AND i.seq = n.seq AND i.status = 'active' AND \
            i.kind = 'managed') <> 1")),
        ("a place has its entity and its parent", "instances i WHERE NOT EXISTS (SELECT 1 FROM entities e WHERE e.uid = i.uid \
            AND e.machine_id = i.machine_id AND e.entity_id = i.entity_id) OR NOT EXISTS (SELECT 1 FROM entities e WHERE \
            e.uid = i.parent_uid AND e.machine_id = i.parent_machine AND e.entity_id = i.parent_entity) OR NOT EXISTS \
            (SELECT 1 FROM entities e WHERE e.uid = i.root_uid AND e.machine_id = i.root_machine AND e.entity_id = \
            i.root_entity)".to_owned()),
        ("a tree has one root", "instances i WHERE i.root_uid <> coalesce((SELECT p.root_uid FROM instances p WHERE p.uid = \
            i.parent_uid), i.parent_uid)".to_owned()),
        ("S2.182: levels", "instances i WHERE i.depth <> json_array_length(i.path) OR i.depth <> CASE WHEN i.kind = 'legacy' \
            THEN 0 ELSE 1 + coalesce((SELECT p.depth FROM instances p WHERE p.uid = i.parent_uid), 0) END".to_owned()),
        ("the path ends in the entry", "instances i WHERE i.kind = 'managed' AND (i.path->>'$[#-1].entity_id' <> \
            i.parent_entity OR i.path->>'$[#-1].seq' <> i.seq OR i.path->>'$[#-1].state' <> i.state)".to_owned()),
        ("current: what lives or can wake", format!("instances i WHERE i.current = 0 AND {sleeps}")),
        ("current: the latest of a live parent", format!("instances i WHERE i.current = 0 AND {latest} AND {parent_known}")),
        ("current: nothing else", format!("instances i WHERE i.current = 1 AND NOT {sleeps} AND NOT ({latest} AND \
            {parent_known})")),
        ("cancelled_with: of what was cancelled", "instances i WHERE i.cancelled_with IS NOT NULL AND (i.status <> 'cancelled' \
            OR NOT EXISTS (SELECT 1 FROM instances t WHERE t.uid = i.cancelled_with AND t.cancelled_with = t.uid))".to_owned()),
        ("entries it belonged to", "instances i WHERE i.first_seq > i.seq OR (i.status = 'active') <> (i.ended IS NULL)".to_owned()),
        ("the next entry instance is unused", "entities e CROSS JOIN entries n ON n.uid = e.uid WHERE n.seq >= \
            e.next_seq".to_owned()),
        ("what was handed on is remembered", "forwards f WHERE NOT EXISTS (SELECT 1 FROM history h WHERE h.uid = f.to_uid AND \
            h.identity_key = f.identity_key)".to_owned()),
        ("the last row of what was cancelled says so", "instances i WHERE i.status = 'cancelled' AND (SELECT h.event_type \
            FROM history h WHERE h.uid = i.uid ORDER BY h.id DESC LIMIT 1) <> '$sub_cancel'".to_owned()),
    ]
}
