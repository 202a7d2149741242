//! The five transactions, each as one call of a procedure or as statements of its own.

use super::dialect::spell;
use super::inputs::{Customer, Input, Line, is_all_local, packed};
use crate::admin::{Admin, AdminError, Value};
use crate::target::Engine;
use numawise_experiment::Route;

/// How a transaction ended that the database has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Committed,
    /// As its input wanted it: an item that nobody has.
    RolledBack,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum NoOutcome {
    /// Another transaction was in the way, and this one is undone: try again.
    Conflict,
    /// The connection is gone; whether the transaction is committed is not known.
    Unknown,
    /// The connection is gone before anything could be committed.
    Lost,
    Failed(AdminError),
}

macro_rules! statements {
    ($($name:ident: $text:expr,)*) => {
        #[derive(Clone, Copy)]
        #[repr(usize)]
        enum Statement { $($name,)* }
        const TEXTS: &[&str] = &[$($text,)*];
    };
}

statements! {
    CallNewOrder: "CALL tpcc_new_order(?, ?, ?, ?, ?, ?{status})",
    CallPayment: "CALL tpcc_payment(?, ?, ?, ?, ?, ?, ?{status})",
    CallOrderStatus: "CALL tpcc_order_status(?, ?, ?, ?{status})",
    CallDelivery: "CALL tpcc_delivery(?, ?{status})",
    CallStockLevel: "CALL tpcc_stock_level(?, ?, ?{status})",
    DistrictForOrder: "SELECT d_next_o_id, {parts d_tax} FROM district WHERE d_w_id = ? AND d_id = ? {lock}",
    DistrictOrdered: "UPDATE district SET d_next_o_id = ? WHERE d_w_id = ? AND d_id = ?",
    CustomerForOrder: "SELECT {parts c_discount}, c_last, c_credit, {parts w_tax} FROM customer, warehouse \
        WHERE w_id = ? AND c_w_id = ? AND c_d_id = ? AND c_id = ?",
    NewOrders: "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, \
        o_all_local) VALUES (?, ?, ?, ?, {now}, NULL, ?, ?)",
    NewNewOrder: "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)",
    Item: "SELECT {cents i_price}, i_name, i_data FROM item WHERE i_id = ?",
    StockForOrder: "SELECT s_quantity, s_data, CASE ?int WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 \
        WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 \
        WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END \
        FROM stock WHERE s_w_id = ? AND s_i_id = ? {lock}",
    StockOrdered: "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, \
        s_remote_cnt = s_remote_cnt + ? WHERE s_w_id = ? AND s_i_id = ?",
    NewLine: "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, \
        ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?cents, ?)",
    WarehousePaid: "UPDATE warehouse SET w_ytd = w_ytd + ?cents WHERE w_id = ?",
    WarehouseName: "SELECT w_name FROM warehouse WHERE w_id = ?",
    DistrictPaid: "UPDATE district SET d_ytd = d_ytd + ?cents WHERE d_w_id = ? AND d_id = ?",
    DistrictName: "SELECT d_name FROM district WHERE d_w_id = ? AND d_id = ?",
    CustomersByName: "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? \
        ORDER BY c_first",
    CustomerForPayment: "SELECT c_credit, {cents c_balance}, c_data FROM customer \
        WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? {lock}",
    CustomerPaid: "UPDATE customer SET c_balance = c_balance - ?cents, c_ytd_payment = c_ytd_payment + ?cents, \
        c_payment_cnt = c_payment_cnt + 1, c_data = ? WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    NewHistory: "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
        VALUES (?, ?, ?, ?, ?, {now}, ?cents, ?)",
    CustomerStatus: "SELECT c_first, c_last, {cents c_balance} FROM customer \
        WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    LastOrder: "SELECT o_id, o_carrier_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? \
        ORDER BY o_id DESC LIMIT 1",
    LinesOfOrder: "SELECT ol_i_id, ol_supply_w_id, ol_quantity, {cents ol_amount} FROM order_line \
        WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
    OldestNewOrder: "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? \
        ORDER BY no_o_id LIMIT 1 {lock}",
    NewOrderDelivered: "DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?",
    OrderDelivered: "UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
    CustomerOfOrder: "SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
    LinesDelivered: "UPDATE order_line SET ol_delivery_d = {now} \
        WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
    SumOfOrder: "SELECT {cents SUM(ol_amount)} FROM order_line \
        WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
    CustomerDelivered: "UPDATE customer SET c_balance = c_balance + ?cents, \
        c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    NextOrder: "SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?",
    LowStock: "SELECT {count COUNT(DISTINCT s_i_id)} FROM order_line, stock \
        WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id < ? AND ol_o_id >= ? \
        AND s_w_id = ? AND s_i_id = ol_i_id AND s_quantity < ?",
}

/// A connection that carries out transactions.
pub struct Transactions {
    admin: Admin,
    route: Route,
    texts: Vec<String>,
}

macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$(Value::from($value)),*] };
}

impl Transactions {
    pub fn new(admin: Admin, route: Route) -> Self {
        let engine = admin.engine();
        // PostgreSQL wants something in the place of a value that comes back.
        let status = if engine == Engine::PostgreSql { ", NULL" } else { "" };
        let texts =
            TEXTS.iter().map(|text| spell(engine, &text.replace("{status}", status))).collect();
        Self { admin, route, texts }
    }

    pub fn admin(&mut self) -> &mut Admin {
        &mut self.admin
    }

    pub fn execute(&mut self, input: &Input) -> Result<Outcome, NoOutcome> {
        match self.route {
            Route::Procedures => match self.call(input) {
                Ok(outcome) => Ok(outcome),
                Err(AdminError::Conflict { .. }) => Err(NoOutcome::Conflict),
                Err(AdminError::Lost { .. }) => Err(NoOutcome::Unknown),
                Err(other) => Err(NoOutcome::Failed(other)),
            },
            Route::Statements => self.by_statements(input),
        }
    }

    fn ask(&mut self, which: Statement, values: &[Value]) -> Result<Vec<Vec<Value>>, AdminError> {
        let slot = which as usize;
        self.admin.prepared(slot, &self.texts[slot], values)
    }

    /// The first row, which has to be there.
    fn row(&mut self, which: Statement, values: &[Value]) -> Result<Vec<Value>, AdminError> {
        let first = self.ask(which, values)?.into_iter().next();
        first.ok_or_else(|| self.lacking(which, "no row came back"))
    }

    fn number(&mut self, which: Statement, values: &[Value]) -> Result<i64, AdminError> {
        let number = self.row(which, values)?.first().and_then(Value::int);
        number.ok_or_else(|| self.lacking(which, "no number came back"))
    }

    fn lacking(&self, which: Statement, said: &str) -> AdminError {
        let statement = self.texts[which as usize].clone();
        AdminError::Refused { statement, said: said.to_owned() }
    }

    fn call(&mut self, input: &Input) -> Result<Outcome, AdminError> {
        use Statement::{CallDelivery, CallNewOrder, CallOrderStatus, CallPayment, CallStockLevel};
        let by = |customer: &Customer| match customer {
            Customer::Number(number) => (*number, String::new()),
            Customer::LastName(name) => (0, name.clone()),
        };
        let rolled_back = match input {
            Input::NewOrder { warehouse, district, customer, lines } => {
                let all_local = i64::from(is_all_local(*warehouse, lines));
                let count = lines.len() as i64;
                let items = packed(lines);
                let values =
                    values![*warehouse, *district, *customer, count, all_local, items.as_str()];
                self.number(CallNewOrder, values)?
            }
            Input::Payment {
                warehouse,
                district,
                customer_warehouse,
                customer_district,
                customer,
                cents,
            } => {
                let (number, name) = by(customer);
                let (c_w, c_d) = (*customer_warehouse, *customer_district);
                let values =
                    values![*warehouse, *district, c_w, c_d, number, name.as_str(), *cents];
                self.number(CallPayment, values)?
            }
            Input::OrderStatus { warehouse, district, customer } => {
                let (number, name) = by(customer);
                self.number(CallOrderStatus, values![*warehouse, *district, number, name.as_str()])?
            }
            Input::Delivery { warehouse, carrier } => {
                self.number(CallDelivery, values![*warehouse, *carrier])?
            }
            Input::StockLevel { warehouse, district, threshold } => {
                self.number(CallStockLevel, values![*warehouse, *district, *threshold])?
            }
        };
        Ok(if rolled_back == 0 { Outcome::Committed } else { Outcome::RolledBack })
    }

    fn by_statements(&mut self, input: &Input) -> Result<Outcome, NoOutcome> {
        let begin = match (self.admin.engine(), input) {
            // A reader must not wait for the one writer, nor become one half-way.
            (Engine::Sqlite, Input::OrderStatus { .. } | Input::StockLevel { .. }) => "BEGIN",
            (Engine::Sqlite, _) => "BEGIN IMMEDIATE",
            (Engine::MySql | Engine::PostgreSql, _) => "START TRANSACTION",
        };
        let done = self.admin.run(begin).and_then(|()| match input {
            Input::NewOrder { warehouse, district, customer, lines } => {
                self.new_order(*warehouse, *district, *customer, lines)
            }
            Input::Payment { .. } => self.payment(input),
            Input::OrderStatus { warehouse, district, customer } => {
                self.order_status(*warehouse, *district, customer)
            }
            Input::Delivery { warehouse, carrier } => self.delivery(*warehouse, *carrier),
            Input::StockLevel { warehouse, district, threshold } => {
                self.stock_level(*warehouse, *district, *threshold)
            }
        });
        match done {
            Ok(Outcome::Committed) => match self.admin.run("COMMIT") {
                Ok(()) => Ok(Outcome::Committed),
                // Only here may it have been done without our hearing of it.
                Err(AdminError::Lost { .. }) => Err(NoOutcome::Unknown),
                Err(error) => Err(self.undone(error)),
            },
            Ok(Outcome::RolledBack) => match self.admin.run("ROLLBACK") {
                Ok(()) => Ok(Outcome::RolledBack),
                Err(error) => Err(self.undone(error)),
            },
            Err(error) => Err(self.undone(error)),
        }
    }

    /// Rolls back what a failed statement has left, unless the connection is gone anyway.
    fn undone(&mut self, error: AdminError) -> NoOutcome {
        match error {
            AdminError::Lost { .. } => NoOutcome::Lost,
            AdminError::Conflict { .. } => match self.admin.run("ROLLBACK") {
                Err(AdminError::Lost { .. }) => NoOutcome::Lost,
                // SQLite has none open when BEGIN itself met the conflict.
                _ => NoOutcome::Conflict,
            },
            other => {
                // The first error is the one to tell.
                let _ = self.admin.run("ROLLBACK");
                NoOutcome::Failed(other)
            }
        }
    }

    fn new_order(
        &mut self,
        warehouse: i64,
        district: i64,
        customer: i64,
        lines: &[Line],
    ) -> Result<Outcome, AdminError> {
        use Statement as S;
        let order = self.number(S::DistrictForOrder, values![warehouse, district])?;
        self.ask(S::DistrictOrdered, values![order + 1, warehouse, district])?;
        self.row(S::CustomerForOrder, values![warehouse, warehouse, district, customer])?;
        let (count, all_local) = (lines.len() as i64, i64::from(is_all_local(warehouse, lines)));
        self.ask(S::NewOrders, values![order, district, warehouse, customer, count, all_local])?;
        self.ask(S::NewNewOrder, values![order, district, warehouse])?;
        for (number, line) in (1_i64..).zip(lines) {
            let Line { item, supply_warehouse, quantity } = *line;
            let found = self.ask(S::Item, values![item])?;
            let Some(price) = found.first().and_then(|row| row.first()?.int()) else {
                return Ok(Outcome::RolledBack);
            };
            let stock = self.row(S::StockForOrder, values![district, supply_warehouse, item])?;
            let there = stock.first().and_then(Value::int);
            let there = there.ok_or_else(|| self.lacking(S::StockForOrder, "no quantity"))?;
            let dist = stock.into_iter().nth(2).unwrap_or(Value::Null);
            let left = there - quantity + if there >= quantity + 10 { 0 } else { 91 };
            let is_remote = i64::from(supply_warehouse != warehouse);
            self.ask(S::StockOrdered, values![left, quantity, is_remote, supply_warehouse, item])?;
            let ids = [order, district, warehouse, number, item, supply_warehouse, quantity];
            let mut line: Vec<Value> = ids.into_iter().map(Value::Int).collect();
            line.extend([Value::Int(quantity * price), dist]);
            self.ask(S::NewLine, &line)?;
        }
        Ok(Outcome::Committed)
    }

    fn customer(
        &mut self,
        warehouse: i64,
        district: i64,
        customer: &Customer,
    ) -> Result<i64, AdminError> {
        match customer {
            Customer::Number(number) => Ok(*number),
            Customer::LastName(name) => {
                let values = values![warehouse, district, name.as_str()];
                let namesakes = self.ask(Statement::CustomersByName, values)?;
                let middle = namesakes.len().div_ceil(2).saturating_sub(1);
                let id = namesakes.get(middle).and_then(|row| row.first()?.int());
                id.ok_or_else(|| self.lacking(Statement::CustomersByName, "nobody has that name"))
            }
        }
    }

    fn payment(&mut self, input: &Input) -> Result<Outcome, AdminError> {
        use Statement as S;
        let Input::Payment {
            warehouse,
            district,
            customer_warehouse: c_w,
            customer_district: c_d,
            customer,
            cents,
        } = input
        else {
            return Ok(Outcome::RolledBack);
        };
        let text = |row: Vec<Value>, at: usize| match row.into_iter().nth(at) {
            Some(Value::Text(text)) => text,
            _ => String::new(),
        };
        self.ask(S::WarehousePaid, values![*cents, *warehouse])?;
        let w_name = text(self.row(S::WarehouseName, values![*warehouse])?, 0);
        self.ask(S::DistrictPaid, values![*cents, *warehouse, *district])?;
        let d_name = text(self.row(S::DistrictName, values![*warehouse, *district])?, 0);
        let c_id = self.customer(*c_w, *c_d, customer)?;
        let found = self.row(S::CustomerForPayment, values![*c_w, *c_d, c_id])?;
        let has_bad_credit = matches!(found.first(), Some(Value::Text(credit)) if credit == "BC");
        let mut data = text(found, 2);
        if has_bad_credit {
            let amount = format!("{}.{:02}", cents / 100, cents % 100);
            data = format!("{c_id} {c_d} {c_w} {district} {warehouse} {amount} {data}");
            data.truncate(500);
        }
        let values = values![*cents, *cents, data.as_str(), *c_w, *c_d, c_id];
        self.ask(S::CustomerPaid, values)?;
        let h_data = format!("{w_name}    {d_name}");
        let values = values![c_id, *c_d, *c_w, *district, *warehouse, *cents, h_data.as_str()];
        self.ask(S::NewHistory, values)?;
        Ok(Outcome::Committed)
    }

    fn order_status(
        &mut self,
        warehouse: i64,
        district: i64,
        customer: &Customer,
    ) -> Result<Outcome, AdminError> {
        let customer = self.customer(warehouse, district, customer)?;
        self.row(Statement::CustomerStatus, values![warehouse, district, customer])?;
        let order = self.number(Statement::LastOrder, values![warehouse, district, customer])?;
        self.ask(Statement::LinesOfOrder, values![warehouse, district, order])?;
        Ok(Outcome::Committed)
    }

    fn delivery(&mut self, warehouse: i64, carrier: i64) -> Result<Outcome, AdminError> {
        use Statement as S;
        for district in 1..=super::schema::DISTRICTS {
            let oldest = self.ask(S::OldestNewOrder, values![warehouse, district])?;
            let Some(order) = oldest.first().and_then(|row| row.first()?.int()) else { continue };
            let this = [Value::Int(warehouse), Value::Int(district), Value::Int(order)];
            self.ask(S::NewOrderDelivered, &this)?;
            // Updated first, read then: a row that this transaction has written is seen as it is now.
            self.ask(S::OrderDelivered, values![carrier, warehouse, district, order])?;
            let customer = self.number(S::CustomerOfOrder, &this)?;
            self.ask(S::LinesDelivered, &this)?;
            let cents = self.number(S::SumOfOrder, &this)?;
            self.ask(S::CustomerDelivered, values![cents, warehouse, district, customer])?;
        }
        Ok(Outcome::Committed)
    }

    fn stock_level(
        &mut self,
        warehouse: i64,
        district: i64,
        threshold: i64,
    ) -> Result<Outcome, AdminError> {
        let next = self.number(Statement::NextOrder, values![warehouse, district])?;
        let values = values![warehouse, district, next, next - 20, warehouse, threshold];
        self.number(Statement::LowStock, values)?;
        Ok(Outcome::Committed)
    }
}
