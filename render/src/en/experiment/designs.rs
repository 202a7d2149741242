//! Why a design is refused, and what would do.

use crate::en::{Said, and, say};
use crate::quantity::seconds;
use numawise_experiment::{DesignPart, DesignRefused};

pub fn refused(refused: &DesignRefused) -> Said {
    match refused {
        DesignRefused::NothingToCompare => {
            say("there are fewer than two scenarios").way("add the one to compare with")
        }
        DesignRefused::NoWorkload => say("there is no workload").way("name at least one"),
        DesignRefused::NoThreads => say("there is no number of threads, or one of them is 0")
            .way("name some, like 32, 16, 8"),
        DesignRefused::Twice { what, name } => {
            say(format!("{} {name} is there twice", part(*what))).way("leave one out")
        }
        DesignRefused::BaselineUnknown { name, scenarios } => {
            say(format!("the baseline {name} is no scenario")).way(match scenarios.as_slice() {
                [] => "add it".to_owned(),
                some => format!("take one of {}", and(some)),
            })
        }
        DesignRefused::ArmConfoundedWithHost { hosts } => {
            let mut said = say(
                "the scenarios live on different hosts: the host would explain a difference as well as the scenario does",
            );
            for (scenario, hosts) in hosts {
                let hosts: Vec<String> = hosts.iter().cloned().collect();
                said = said.fact(format!("{scenario}: {}", and(&hosts)));
            }
            said.way("let each scenario run on each of these hosts")
                .way("measure all of them on one host")
        }
        DesignRefused::NoHost { scenario } => {
            say(format!("scenario {scenario} has no host")).way("say where it can be applied")
        }
        DesignRefused::BlocksNotEven { blocks, multiple_of } => say(format!(
            "{blocks} blocks cannot be shared out evenly: each host gets them in mirrored pairs"
        ))
        .way(format!("take {} blocks", blocks.next_multiple_of(*multiple_of))),
        DesignRefused::BlocksOutOfRange { blocks, most } => {
            say(format!("{blocks} is no number of blocks"))
                .way(format!("take 1 to {most}; 10 is usual"))
        }
        DesignRefused::WorthOutOfRange { worth } => {
            say(format!("{worth} is no smallest gain worth claiming"))
                .way("give a share of one: 0.01 is 1 %")
        }
        DesignRefused::WarmUpEndsBeforeItBegins { at_least, at_most } => say(format!(
            "the warm-up is to take at least {} s and at most {} s",
            seconds(*at_least),
            seconds(*at_most)
        ))
        .way("exchange the two"),
        DesignRefused::NothingMeasured => {
            say("the time to measure is 0").way("give each run at least some seconds")
        }
    }
}

fn part(part: DesignPart) -> &'static str {
    match part {
        DesignPart::Scenario => "scenario",
        DesignPart::Workload => "workload",
        DesignPart::Threads => "number of threads",
    }
}
