//! Queue pair states (`enum ibv_qp_state`, verbs.h).

/// Names by number.
pub const NAMES: [&str; 7] = ["RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"];

/// "RTR" for 2; "unknown" for what the table does not have.
pub fn name(state: u32) -> &'static str {
    usize::try_from(state)
        .ok()
        .and_then(|i| NAMES.get(i).copied())
        .unwrap_or("unknown")
}

/// The number of a state's name, in any case, with or without `IBV_QPS_`.
pub fn by_name(name: &str) -> Option<u32> {
    let upper = name.trim().to_ascii_uppercase();
    let bare = upper.strip_prefix("IBV_QPS_").unwrap_or(&upper);
    let found = NAMES.iter().position(|n| *n == bare)?;
    u32::try_from(found).ok()
}
