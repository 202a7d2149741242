//! A figure: what was measured, what it should be, and whether it is.

use super::timing::{Pair, Sample};
use comfy_table::{Table, presets};
use serde_json::{Value, json};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// Ours takes at most so many times the peer's time.
    Times(f64),
    /// The peer takes at least so many times our time.
    Faster(f64),
    /// Ours takes at most so much longer.
    Over(Duration),
    /// Ours opens at most so many.
    FilesPerCpu(f64),
}

pub enum Outcome {
    Timed(Vec<Pair>),
    Counted {
        ours: f64,
        peer: f64,
    },
    /// Said, and never counted as met.
    Unmeasured(String),
}

pub struct Figure {
    pub name: String,
    pub goal: Goal,
    pub outcome: Outcome,
}

/// What the goal is held against, with the lowest and the highest over all pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spread {
    median: f64,
    lowest: f64,
    highest: f64,
}

impl Figure {
    pub fn unmeasured(name: &str, goal: Goal, why: String) -> Self {
        Self { name: name.to_owned(), goal, outcome: Outcome::Unmeasured(why) }
    }

    pub fn is_met(&self) -> bool {
        self.value(|sample| sample.wall).is_some_and(|value| self.goal.is_met_by(value.median))
    }

    fn value(&self, of: fn(&Sample) -> Duration) -> Option<Spread> {
        match &self.outcome {
            Outcome::Timed(pairs) => {
                let single =
                    |pair: &Pair| self.goal.value(millis(of(&pair.ours)), millis(of(&pair.peer)));
                let all = pairs.iter().map(single);
                Some(Spread {
                    median: self
                        .goal
                        .value(median(pairs, |p| of(&p.ours)), median(pairs, |p| of(&p.peer))),
                    lowest: all.clone().fold(f64::INFINITY, f64::min),
                    highest: all.fold(f64::NEG_INFINITY, f64::max),
                })
            }
            Outcome::Counted { ours, peer } => {
                let value = self.goal.value(*ours, *peer);
                Some(Spread { median: value, lowest: value, highest: value })
            }
            Outcome::Unmeasured(_) => None,
        }
    }

    fn row(&self) -> [String; 7] {
        let (ours, peer) = match &self.outcome {
            Outcome::Timed(pairs) => (
                format!("{:.2} ms", median(pairs, |pair| pair.ours.wall)),
                format!("{:.2} ms", median(pairs, |pair| pair.peer.wall)),
            ),
            Outcome::Counted { ours, peer } => (format!("{ours:.2}"), format!("{peer:.2}")),
            Outcome::Unmeasured(_) => ("-".to_owned(), "-".to_owned()),
        };
        let wall = self.value(|sample| sample.wall).map_or("-".to_owned(), |v| self.goal.show(v));
        let cpu = match self.outcome {
            Outcome::Timed(_) => self.value(|sample| sample.cpu).map(|v| self.goal.show(v)),
            Outcome::Counted { .. } | Outcome::Unmeasured(_) => None,
        };
        let verdict = match &self.outcome {
            Outcome::Unmeasured(why) => format!("not measured: {why}"),
            _ if self.is_met() => "met".to_owned(),
            _ => "missed".to_owned(),
        };
        let cpu = cpu.unwrap_or_else(|| "-".to_owned());
        [self.name.clone(), self.goal.text(), ours, peer, wall, cpu, verdict]
    }

    pub fn as_json(&self) -> Value {
        let mut figure = json!({"name": self.name, "goal": self.goal.text(), "met": self.is_met()});
        match &self.outcome {
            Outcome::Timed(pairs) => figure["pairs"] = pairs.iter().map(pair_json).collect(),
            Outcome::Counted { ours, peer } => {
                figure["ours_files_per_cpu"] = json!(ours);
                figure["peer_files_per_cpu"] = json!(peer);
            }
            Outcome::Unmeasured(why) => figure["not_measured"] = json!(why),
        }
        figure
    }
}

fn pair_json(pair: &Pair) -> Value {
    let usec = |time: Duration| time.as_secs_f64() * 1e6;
    json!({
        "ours_wall_usec": usec(pair.ours.wall),
        "ours_cpu_usec": usec(pair.ours.cpu),
        "peer_wall_usec": usec(pair.peer.wall),
        "peer_cpu_usec": usec(pair.peer.cpu),
    })
}

impl Goal {
    fn value(self, ours: f64, peer: f64) -> f64 {
        match self {
            Self::Times(_) => ours / peer,
            Self::Faster(_) => peer / ours,
            Self::Over(_) => ours - peer,
            Self::FilesPerCpu(_) => ours,
        }
    }

    fn is_met_by(self, value: f64) -> bool {
        match self {
            Self::Times(most) | Self::FilesPerCpu(most) => value <= most,
            Self::Faster(least) => value >= least,
            Self::Over(most) => value <= millis(most),
        }
    }

    fn text(self) -> String {
        match self {
            Self::Times(most) => format!("at most {most} x"),
            Self::Faster(least) => format!("at least {least} x faster"),
            Self::Over(most) => format!("at most {} ms over", millis(most)),
            Self::FilesPerCpu(most) => format!("at most {most}"),
        }
    }

    fn show(self, value: Spread) -> String {
        let Spread { median, lowest, highest } = value;
        match self {
            Self::Times(_) => format!("{median:.2} x [{lowest:.2}-{highest:.2}]"),
            Self::Faster(_) => {
                format!("{median:.1} x faster [{lowest:.1}-{highest:.1}]")
            }
            Self::Over(_) => format!("{median:+.2} ms [{lowest:+.2} to {highest:+.2}]"),
            Self::FilesPerCpu(_) => format!("{median:.2}"),
        }
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// In milliseconds; of an even number, the mean of the middle two.
fn median(pairs: &[Pair], of: impl Fn(&Pair) -> Duration) -> f64 {
    let mut times: Vec<f64> = pairs.iter().map(|pair| millis(of(pair))).collect();
    times.sort_by(f64::total_cmp);
    let (upper, lower) = (times.len() / 2, times.len().saturating_sub(1) / 2);
    match (times.get(lower), times.get(upper)) {
        (Some(a), Some(b)) => (a + b) / 2.0,
        _ => f64::NAN,
    }
}

pub fn table(figures: &[Figure]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(["figure", "goal", "ours", "peer", "wall", "user+sys", "verdict"]);
    table.add_rows(figures.iter().map(Figure::row));
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(walls: &[(u64, u64)]) -> Outcome {
        let sample = |ms| Sample { wall: Duration::from_millis(ms), cpu: Duration::from_millis(1) };
        let pairs = walls.iter().map(|(o, p)| Pair { ours: sample(*o), peer: sample(*p) });
        Outcome::Timed(pairs.collect())
    }

    fn figure(goal: Goal, outcome: Outcome) -> Figure {
        Figure { name: "x".to_owned(), goal, outcome }
    }

    /// Medians 2 and 10; single pairs 10/1, 30/2 and 9/3.
    #[test]
    fn the_ratio_is_of_the_medians_and_the_range_of_the_pairs() {
        let walls = [(1, 10), (2, 30), (3, 9)];
        let figure = figure(Goal::Faster(4.0), pairs(&walls));
        assert_eq!(figure.row()[2..5], ["2.00 ms", "10.00 ms", "5.0 x faster [3.0-15.0]"]);
        assert!(figure.is_met());
    }

    #[test]
    fn goals_are_missed_by_a_hair() {
        let times = figure(Goal::Times(1.1), pairs(&[(111, 100)]));
        assert_eq!(times.row()[6], "missed");
        assert!(figure(Goal::Times(1.1), pairs(&[(110, 100)])).is_met());
        let over = figure(Goal::Over(Duration::from_millis(5)), pairs(&[(7, 1)]));
        assert_eq!(over.row()[4], "+6.00 ms [+6.00 to +6.00]");
        assert!(!over.is_met());
        let files = figure(Goal::FilesPerCpu(4.0), Outcome::Counted { ours: 4.01, peer: 27.0 });
        assert!(!files.is_met());
    }

    #[test]
    fn what_was_not_measured_is_not_met() {
        let figure = Figure::unmeasured("x", Goal::FilesPerCpu(4.0), "no strace".to_owned());
        assert!(!figure.is_met());
        assert_eq!(figure.row()[6], "not measured: no strace");
        assert_eq!(figure.as_json()["not_measured"], "no strace");
        assert_eq!(figure.as_json()["met"], false);
    }

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        let Outcome::Timed(four) = pairs(&[(1, 0), (9, 0), (2, 0), (4, 0)]) else {
            panic!("pairs are timed")
        };
        assert_eq!(median(&four, |pair| pair.ours.wall), 3.0);
    }
}
