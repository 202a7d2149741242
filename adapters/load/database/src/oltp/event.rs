//! One event: its statements with their parameters, drawn up front.

use super::keys::{Keys, Unique};
use super::options::{Options, Workload};
use super::random::{C_LENGTH, PAD_LENGTH, Random};
use super::rows::append_number;
use super::template::{Parameter, Template};
use std::sync::Arc;

/// The statements of one transaction. Drawing into one that was used before allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Event {
    pub steps: Vec<Step>,
    numbers: Vec<i64>,
    texts: Vec<u8>,
}

/// One statement; where its parameters lie in its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub template: Template,
    pub table: u32,
    number: u32,
    text: u32,
}

impl Step {
    /// One that takes no parameters.
    pub const fn control(template: Template) -> Self {
        Self { template, table: 1, number: 0, text: 0 }
    }
}

/// What a parameter is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    Number(i64),
    Text(&'a [u8]),
}

impl Event {
    /// The values for these parameters of one of its statements, in their order.
    pub fn values<'a>(
        &'a self,
        step: Step,
        parameters: &'a [Parameter],
    ) -> impl Iterator<Item = Value<'a>> {
        let (mut number, mut text) = (step.number as usize, step.text as usize);
        parameters.iter().map(move |parameter| match parameter {
            Parameter::Number => {
                number += 1;
                Value::Number(self.numbers[number - 1])
            }
            Parameter::C | Parameter::Pad => {
                let length = if *parameter == Parameter::C { C_LENGTH } else { PAD_LENGTH };
                text += length;
                Value::Text(&self.texts[text - length..text])
            }
        })
    }

    /// The statement as text, its parameters written into it.
    pub fn append_text(
        &self,
        step: Step,
        pieces: &[String],
        parameters: &[Parameter],
        out: &mut Vec<u8>,
    ) {
        let mut pieces = pieces.iter();
        out.extend_from_slice(pieces.next().map_or(&[], |piece| piece.as_bytes()));
        for (value, piece) in self.values(step, parameters).zip(pieces) {
            match value {
                Value::Number(number) => {
                    if number < 0 {
                        out.push(b'-');
                    }
                    append_number(number.unsigned_abs(), out);
                }
                Value::Text(text) => {
                    out.push(b'\'');
                    out.extend_from_slice(text);
                    out.push(b'\'');
                }
            }
            out.extend_from_slice(piece.as_bytes());
        }
    }

    fn clear(&mut self) {
        self.steps.clear();
        self.numbers.clear();
        self.texts.clear();
    }

    fn push(&mut self, template: Template, table: u32) {
        let (number, text) = (self.numbers.len() as u32, self.texts.len() as u32);
        self.steps.push(Step { template, table, number, text });
    }
}

/// Draws events for some connections, which share its random stream.
pub struct Drawer {
    options: Arc<Options>,
    random: Random,
    keys: Keys,
    unique: Arc<Unique>,
    connections: u32,
}

impl Drawer {
    /// `connections` counts all of the run: two workloads give each of them its own part of the table.
    pub fn new(
        options: Arc<Options>,
        random: Random,
        unique: Arc<Unique>,
        connections: u32,
    ) -> Self {
        let keys = Keys::new(options.distribution, 1, u64::from(options.table_size));
        Self { options, random, keys, unique, connections }
    }

    /// The next event of this connection, counted from 0.
    pub fn draw(&mut self, connection: u32, event: &mut Event) {
        event.clear();
        let options = Arc::clone(&self.options);
        match options.workload {
            Workload::PointSelect => self.points(1, event),
            Workload::UpdateIndex => self.index_updates(event),
            Workload::UpdateNonIndex => self.non_index_updates(event),
            Workload::Delete => {
                let table = self.table();
                self.keyed(Template::Delete, table, event);
            }
            Workload::Insert => self.append(event),
            Workload::RandomPoints | Workload::RandomRanges => self.scattered(connection, event),
            Workload::ReadOnly | Workload::ReadWrite | Workload::WriteOnly => {
                if !options.skip_trx {
                    event.push(Template::Begin, 1);
                }
                if options.workload != Workload::WriteOnly {
                    self.points(options.point_selects, event);
                    self.ranges(event);
                }
                if options.workload != Workload::ReadOnly {
                    self.index_updates(event);
                    self.non_index_updates(event);
                    self.delete_inserts(event);
                }
                if !options.skip_trx {
                    event.push(Template::Commit, 1);
                }
            }
        }
    }

    /// Drawn once for each group of statements, each table alike whatever the keys' distribution.
    fn table(&mut self) -> u32 {
        self.random.between(1, u64::from(self.options.tables)) as u32
    }

    fn key(&mut self) -> i64 {
        self.keys.draw(&mut self.random) as i64
    }

    fn keyed(&mut self, template: Template, table: u32, event: &mut Event) {
        event.push(template, table);
        let key = self.key();
        event.numbers.push(key);
    }

    fn points(&mut self, count: u32, event: &mut Event) {
        let table = self.table();
        for _ in 0..count {
            self.keyed(Template::PointSelect, table, event);
        }
    }

    fn ranges(&mut self, event: &mut Event) {
        if !self.options.range_selects {
            return;
        }
        let groups = [
            (Template::SimpleRange, self.options.simple_ranges),
            (Template::SumRange, self.options.sum_ranges),
            (Template::OrderRange, self.options.order_ranges),
            (Template::DistinctRange, self.options.distinct_ranges),
        ];
        for (template, count) in groups {
            let table = self.table();
            for _ in 0..count {
                event.push(template, table);
                let key = self.key();
                event.numbers.extend([key, key + i64::from(self.options.range_size) - 1]);
            }
        }
    }

    fn index_updates(&mut self, event: &mut Event) {
        let table = self.table();
        for _ in 0..self.options.index_updates {
            self.keyed(Template::IndexUpdate, table, event);
        }
    }

    fn non_index_updates(&mut self, event: &mut Event) {
        let table = self.table();
        for _ in 0..self.options.non_index_updates {
            event.push(Template::NonIndexUpdate, table);
            self.random.append_c(&mut event.texts);
            let key = self.key();
            event.numbers.push(key);
        }
    }

    /// Both of one table and one id: a committed event leaves as many rows as it found.
    fn delete_inserts(&mut self, event: &mut Event) {
        let table = self.table();
        for _ in 0..self.options.delete_inserts {
            let (id, k) = (self.key(), self.key());
            event.push(Template::Delete, table);
            event.numbers.push(id);
            event.push(Template::Insert, table);
            event.numbers.extend([id, k]);
            self.random.append_c(&mut event.texts);
            self.random.append_pad(&mut event.texts);
        }
    }

    fn append(&mut self, event: &mut Event) {
        let table = self.table();
        if self.options.auto_inc {
            event.push(Template::Append, table);
        } else {
            event.push(Template::AppendWithId, table);
            event.numbers.push(i64::from(self.unique.draw()) - 2_147_483_648);
        }
        let k = self.key();
        event.numbers.push(k);
        self.random.append_c(&mut event.texts);
        self.random.append_pad(&mut event.texts);
    }

    /// Each connection has its own part of the keys, so that none waits for another's.
    fn scattered(&mut self, connection: u32, event: &mut Event) {
        let options = Arc::clone(&self.options);
        let part = f64::from(options.table_size) / f64::from(self.connections.max(1));
        let low = part * f64::from(connection);
        let keys = Keys::new(options.distribution, low as u64, (low + part) as u64);
        if options.workload == Workload::RandomPoints {
            event.push(Template::RandomPoints, 1);
            for _ in 0..options.random_points {
                event.numbers.push(keys.draw(&mut self.random) as i64);
            }
        } else {
            event.push(Template::RandomRanges, 1);
            for _ in 0..options.number_of_ranges {
                let first = keys.draw(&mut self.random) as i64;
                event.numbers.extend([first, first + i64::from(options.delta)]);
            }
        }
    }
}

/// The statements that a workload may send: those to prepare.
pub fn templates(options: &Options) -> Vec<Template> {
    use Template::{
        Begin, Commit, Delete, DistinctRange, IndexUpdate, Insert, NonIndexUpdate, OrderRange,
        PointSelect, SimpleRange, SumRange,
    };
    let control: &[Template] = if options.skip_trx { &[] } else { &[Begin, Commit] };
    let ranges: &[Template] = if options.range_selects {
        &[SimpleRange, SumRange, OrderRange, DistinctRange]
    } else {
        &[]
    };
    let writes = [IndexUpdate, NonIndexUpdate, Delete, Insert];
    match options.workload {
        Workload::PointSelect => vec![PointSelect],
        Workload::UpdateIndex => vec![IndexUpdate],
        Workload::UpdateNonIndex => vec![NonIndexUpdate],
        Workload::Delete => vec![Delete],
        Workload::Insert if options.auto_inc => vec![Template::Append],
        Workload::Insert => vec![Template::AppendWithId],
        Workload::RandomPoints => vec![Template::RandomPoints],
        Workload::RandomRanges => vec![Template::RandomRanges],
        Workload::ReadOnly => [control, &[PointSelect], ranges].concat(),
        Workload::ReadWrite => [control, &[PointSelect], ranges, &writes].concat(),
        Workload::WriteOnly => [control, &writes].concat(),
    }
}
