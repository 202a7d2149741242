//! What a virtual user asks for next: the kind of transaction and its arguments.

use super::random::{AT_LOAD, AT_RUN, Random, last_name};
use super::schema::{CUSTOMERS, DISTRICTS, ITEMS};
use numawise_experiment::{RandomChoice, TransactionKind};
use std::fmt::Write as _;

/// How inputs are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    pub warehouses: i64,
    pub choice: RandomChoice,
    /// Kinds come from a shuffled deck of 23 cards, each dealt once before the next is shuffled.
    pub deck: bool,
    /// Each transaction draws its warehouse anew.
    pub all_warehouses: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Customer {
    Number(i64),
    LastName(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    pub item: i64,
    pub supply_warehouse: i64,
    pub quantity: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    NewOrder {
        warehouse: i64,
        district: i64,
        customer: i64,
        lines: Vec<Line>,
    },
    Payment {
        warehouse: i64,
        district: i64,
        customer_warehouse: i64,
        customer_district: i64,
        customer: Customer,
        cents: i64,
    },
    OrderStatus {
        warehouse: i64,
        district: i64,
        customer: Customer,
    },
    Delivery {
        warehouse: i64,
        carrier: i64,
    },
    StockLevel {
        warehouse: i64,
        district: i64,
        threshold: i64,
    },
}

impl Input {
    pub fn kind(&self) -> TransactionKind {
        match self {
            Self::NewOrder { .. } => TransactionKind::NewOrder,
            Self::Payment { .. } => TransactionKind::Payment,
            Self::OrderStatus { .. } => TransactionKind::OrderStatus,
            Self::Delivery { .. } => TransactionKind::Delivery,
            Self::StockLevel { .. } => TransactionKind::StockLevel,
        }
    }
}

/// An item that no warehouse has: the order that names it is rolled back.
pub const NO_ITEM: i64 = ITEMS + 1;

/// Cards of each kind in the deck: 43.5 %, 43.5 % and three times 4.35 %.
const CARDS: [(TransactionKind, usize); 5] = [
    (TransactionKind::NewOrder, 10),
    (TransactionKind::Payment, 10),
    (TransactionKind::OrderStatus, 1),
    (TransactionKind::Delivery, 1),
    (TransactionKind::StockLevel, 1),
];

/// A virtual user's own state: home, district for stock levels, what is left of its deck.
pub struct Inputs {
    profile: Profile,
    random: Random,
    home: i64,
    stock_district: i64,
    all_cards: Vec<TransactionKind>,
    deck: Vec<TransactionKind>,
}

impl Inputs {
    /// Homes are dealt out evenly: drawn ones, as HammerDB has them, would make some warehouses twice
    /// as hot in one run as in the next.
    pub fn new(profile: Profile, seed: u64, user: usize) -> Self {
        let user = user as i64;
        let mut random = Random::new(seed, user.unsigned_abs() + 1_000_000);
        let all_cards: Vec<_> =
            CARDS.iter().flat_map(|&(kind, count)| std::iter::repeat_n(kind, count)).collect();
        Self {
            home: user % profile.warehouses + 1,
            stock_district: random.between(1, DISTRICTS),
            profile,
            random,
            all_cards,
            deck: Vec::new(),
        }
    }

    pub fn fraction(&mut self) -> f64 {
        self.random.fraction()
    }

    pub fn next(&mut self) -> Input {
        let kind = self.next_kind();
        let warehouse = match self.profile.all_warehouses {
            true => self.random.between(1, self.profile.warehouses),
            false => self.home,
        };
        match kind {
            TransactionKind::NewOrder => self.new_order(warehouse),
            TransactionKind::Payment => self.payment(warehouse),
            TransactionKind::OrderStatus => {
                let district = self.random.between(1, DISTRICTS);
                Input::OrderStatus { warehouse, district, customer: self.named_or_numbered() }
            }
            TransactionKind::Delivery => {
                Input::Delivery { warehouse, carrier: self.random.between(1, 10) }
            }
            TransactionKind::StockLevel => Input::StockLevel {
                warehouse,
                district: self.stock_district,
                threshold: self.random.between(10, 20),
            },
        }
    }

    fn next_kind(&mut self) -> TransactionKind {
        if !self.profile.deck {
            let card = self.random.between(0, self.all_cards.len() as i64 - 1);
            return self.all_cards[card as usize];
        }
        if self.deck.is_empty() {
            self.deck.clone_from(&self.all_cards);
            self.random.shuffle(&mut self.deck);
        }
        self.deck.pop().unwrap_or(TransactionKind::NewOrder)
    }

    fn new_order(&mut self, warehouse: i64) -> Input {
        let district = self.random.between(1, DISTRICTS);
        let customer = self.customer_number();
        let count = self.random.between(5, 15);
        let is_rolled_back = self.random.percent(1);
        let lines = (1..=count)
            .map(|number| Line {
                item: if is_rolled_back && number == count { NO_ITEM } else { self.item() },
                supply_warehouse: match self.random.percent(1) {
                    true => self.other_than(warehouse),
                    false => warehouse,
                },
                quantity: self.random.between(1, 10),
            })
            .collect();
        Input::NewOrder { warehouse, district, customer, lines }
    }

    fn payment(&mut self, warehouse: i64) -> Input {
        let district = self.random.between(1, DISTRICTS);
        let (customer_warehouse, customer_district) = match self.random.percent(15) {
            true => (self.other_than(warehouse), self.random.between(1, DISTRICTS)),
            false => (warehouse, district),
        };
        let customer = self.named_or_numbered();
        let cents = self.random.between(100, 500_000);
        Input::Payment {
            warehouse,
            district,
            customer_warehouse,
            customer_district,
            customer,
            cents,
        }
    }

    fn named_or_numbered(&mut self) -> Customer {
        if !self.random.percent(60) {
            return Customer::Number(self.customer_number());
        }
        let constant = match self.profile.choice {
            RandomChoice::HammerDb => AT_LOAD.last_name,
            RandomChoice::Specification => AT_RUN.last_name,
        };
        Customer::LastName(last_name(self.random.skewed(255, 0, 999, constant)))
    }

    fn customer_number(&mut self) -> i64 {
        match self.profile.choice {
            RandomChoice::HammerDb => self.random.between(1, CUSTOMERS),
            RandomChoice::Specification => self.random.skewed(1_023, 1, CUSTOMERS, AT_RUN.customer),
        }
    }

    fn item(&mut self) -> i64 {
        match self.profile.choice {
            RandomChoice::HammerDb => self.random.between(1, ITEMS),
            RandomChoice::Specification => self.random.skewed(8_191, 1, ITEMS, AT_RUN.item),
        }
    }

    /// Any other warehouse; where there is only one, that one.
    fn other_than(&mut self, warehouse: i64) -> i64 {
        if self.profile.warehouses == 1 {
            return warehouse;
        }
        let other = self.random.between(1, self.profile.warehouses - 1);
        if other >= warehouse { other + 1 } else { other }
    }
}

/// The lines of an order as the procedures take them.
pub fn packed(lines: &[Line]) -> String {
    let mut text = String::with_capacity(lines.len() * 14);
    for line in lines {
        let _ = write!(text, "{:06}{:06}{:02}", line.item, line.supply_warehouse, line.quantity);
    }
    text
}

pub fn is_all_local(warehouse: i64, lines: &[Line]) -> bool {
    lines.iter().all(|line| line.supply_warehouse == warehouse)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(choice: RandomChoice) -> Profile {
        Profile { warehouses: 5, choice, deck: false, all_warehouses: false }
    }

    fn drawn(profile: Profile) -> Vec<Input> {
        let mut inputs = Inputs::new(profile, 42, 7);
        (0..46_000).map(|_| inputs.next()).collect()
    }

    fn share(inputs: &[Input], wanted: impl Fn(&Input) -> bool) -> f64 {
        inputs.iter().filter(|input| wanted(input)).count() as f64 / inputs.len() as f64
    }

    #[test]
    fn kinds_come_at_their_mix_and_a_deck_deals_it_exactly() {
        let inputs = drawn(profile(RandomChoice::HammerDb));
        for (kind, cards) in CARDS {
            let (share, wanted) = (share(&inputs, |i| i.kind() == kind), cards as f64 / 23.0);
            assert!((share - wanted).abs() < 0.01, "{kind:?}: {share} of {wanted}");
        }
        let dealt = drawn(Profile { deck: true, ..profile(RandomChoice::HammerDb) });
        for deck in dealt.chunks(23) {
            let orders = deck.iter().filter(|i| i.kind() == TransactionKind::NewOrder).count();
            assert_eq!(orders, 10);
        }
    }

    #[test]
    fn one_order_in_a_hundred_is_rolled_back_and_one_line_comes_from_elsewhere() {
        let inputs = drawn(profile(RandomChoice::Specification));
        let lines: Vec<&Vec<Line>> = inputs
            .iter()
            .filter_map(|i| if let Input::NewOrder { lines, .. } = i { Some(lines) } else { None })
            .collect();
        let bad = lines.iter().filter(|l| l.last().is_some_and(|l| l.item == NO_ITEM)).count();
        let bad = bad as f64 / lines.len() as f64;
        assert!((0.007..0.013).contains(&bad), "{bad}");
        let all = lines.iter().map(|l| l.len()).sum::<usize>() as f64;
        let remote = lines.iter().flat_map(|l| l.iter()).filter(|l| l.supply_warehouse != 3);
        let remote = remote.count() as f64 / all;
        assert!((0.008..0.012).contains(&remote), "{remote}");
        assert!((all / lines.len() as f64 - 10.0).abs() < 0.1);
    }

    #[test]
    fn payments_are_by_name_and_for_others_as_often_as_wanted() {
        let inputs = drawn(profile(RandomChoice::HammerDb));
        let payments: Vec<Input> =
            inputs.into_iter().filter(|i| i.kind() == TransactionKind::Payment).collect();
        let named = |i: &Input| matches!(i, Input::Payment { customer: Customer::LastName(_), .. });
        let far = |i: &Input| matches!(i, Input::Payment { customer_warehouse, .. } if *customer_warehouse != 3);
        assert!((share(&payments, named) - 0.6).abs() < 0.015);
        assert!((share(&payments, far) - 0.15).abs() < 0.015);
    }

    #[test]
    fn lines_are_packed_at_fixed_places() {
        let line = Line { item: 100_001, supply_warehouse: 12, quantity: 7 };
        assert_eq!(packed(&[line, line]), "1000010000120710000100001207");
    }
}
