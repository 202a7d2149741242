//! The consistency conditions of the specification, 3.3.2.1 to 3.3.2.12, each as one query that counts the
//! rows that contradict it.
//!
//! The eleventh is stated for tables that were just loaded; with deliveries counted it holds at all times.

use super::dialect::spell;
use super::{TpccError, warehouses};
use crate::admin::Admin;
use crate::target::Target;
use numawise_experiment::ConditionResult;

/// In their order. A district without undelivered orders has no highest and lowest of them to compare.
const CONDITIONS: [&str; 12] = [
    "SELECT COUNT(*) FROM warehouse JOIN (SELECT d_w_id, SUM(d_ytd) AS paid FROM district GROUP BY d_w_id) d \
     ON d_w_id = w_id WHERE w_ytd <> paid",
    "SELECT COUNT(*) FROM district \
     JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS last_order FROM orders GROUP BY o_w_id, o_d_id) o \
     ON o_w_id = d_w_id AND o_d_id = d_id \
     LEFT JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS last_new FROM new_order GROUP BY no_w_id, no_d_id) n \
     ON no_w_id = d_w_id AND no_d_id = d_id \
     WHERE d_next_o_id - 1 <> last_order OR d_next_o_id - 1 <> COALESCE(last_new, last_order)",
    "SELECT COUNT(*) FROM (SELECT no_w_id, no_d_id FROM new_order GROUP BY no_w_id, no_d_id \
     HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)) broken",
    "SELECT COUNT(*) FROM (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS counted FROM orders \
     GROUP BY o_w_id, o_d_id) o \
     JOIN (SELECT ol_w_id, ol_d_id, COUNT(*) AS line_count FROM order_line GROUP BY ol_w_id, ol_d_id) l \
     ON ol_w_id = o_w_id AND ol_d_id = o_d_id WHERE counted <> line_count",
    "SELECT COUNT(*) FROM orders LEFT JOIN new_order \
     ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id \
     WHERE (o_carrier_id IS NULL AND no_o_id IS NULL) OR (o_carrier_id IS NOT NULL AND no_o_id IS NOT NULL)",
    "SELECT COUNT(*) FROM orders LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) AS line_count \
     FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) l \
     ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE o_ol_cnt <> COALESCE(line_count, 0)",
    "SELECT COUNT(*) FROM order_line LEFT JOIN orders \
     ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id WHERE o_id IS NULL \
     OR (ol_delivery_d IS NULL AND o_carrier_id IS NOT NULL) \
     OR (ol_delivery_d IS NOT NULL AND o_carrier_id IS NULL)",
    "SELECT COUNT(*) FROM warehouse JOIN (SELECT h_w_id, SUM(h_amount) AS paid FROM history GROUP BY h_w_id) h \
     ON h_w_id = w_id WHERE w_ytd <> paid",
    "SELECT COUNT(*) FROM district JOIN (SELECT h_w_id, h_d_id, SUM(h_amount) AS paid FROM history \
     GROUP BY h_w_id, h_d_id) h ON h_w_id = d_w_id AND h_d_id = d_id WHERE d_ytd <> paid",
    "SELECT COUNT(*) FROM customer \
     LEFT JOIN {delivered} d ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id \
     LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS paid FROM history \
     GROUP BY h_c_w_id, h_c_d_id, h_c_id) h ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id \
     WHERE c_balance <> COALESCE(delivered, 0) - COALESCE(paid, 0)",
    "SELECT COUNT(*) FROM (SELECT o_w_id, o_d_id, COUNT(*) AS ordered FROM orders GROUP BY o_w_id, o_d_id) o \
     JOIN (SELECT c_w_id, c_d_id, SUM(c_delivery_cnt) AS deliveries FROM customer \
     GROUP BY c_w_id, c_d_id) c ON c_w_id = o_w_id AND c_d_id = o_d_id \
     LEFT JOIN (SELECT no_w_id, no_d_id, COUNT(*) AS waiting FROM new_order GROUP BY no_w_id, no_d_id) n \
     ON no_w_id = o_w_id AND no_d_id = o_d_id \
     WHERE ordered - COALESCE(waiting, 0) <> 2100 + deliveries",
    "SELECT COUNT(*) FROM customer \
     LEFT JOIN {delivered} d ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id \
     WHERE c_balance + c_ytd_payment <> COALESCE(delivered, 0)",
];

/// Of each customer, what was delivered.
const DELIVERED: &str = "(SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS delivered FROM orders \
    JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
    WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id)";

/// Holds the tables against all twelve. Nobody else may write meanwhile: each query sees a moment of its own.
pub fn check(
    target: &Target,
    each: &mut dyn FnMut(ConditionResult),
) -> Result<Vec<ConditionResult>, TpccError> {
    let mut admin = Admin::open(target)?;
    warehouses(&mut admin, target)?;
    (1..)
        .zip(CONDITIONS)
        .map(|(condition, text)| {
            let sql = spell(admin.engine(), &text.replace("{delivered}", DELIVERED));
            let result = ConditionResult { condition, broken: admin.count(&sql)? };
            each(result);
            Ok(result)
        })
        .collect()
}
