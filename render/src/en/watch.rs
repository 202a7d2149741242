//! What is said while guests are watched; findings have their own sentences.

use numawise_model::event::WatchEvent as E;

/// Before a finding that is no longer so.
pub const GONE: &str = "gone";

pub fn event(event: &E) -> String {
    match event {
        E::Appeared { guest } => format!("{guest}: is there now"),
        E::Vanished { guest } => format!("{guest}: is no longer there"),
        E::Started { guest } => format!("{guest}: has started"),
        E::Stopped { guest } => format!("{guest}: has stopped"),
        E::Found { .. } | E::Gone { .. } => String::new(),
        E::Blind { why } => format!("nothing can be looked at now, trying again: {why}"),
        E::SeesAgain => "looking again".to_owned(),
    }
}
