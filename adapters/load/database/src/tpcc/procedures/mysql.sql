-- procedure tpcc_new_order
CREATE PROCEDURE tpcc_new_order(
    p_w_id INT, p_d_id INT, p_c_id INT, p_lines INT, p_all_local INT, p_items VARCHAR(255))
this_order: BEGIN
    -- p_items: of each line six digits of item, six of warehouse, two of quantity.
    DECLARE v_discount, v_w_tax, v_d_tax DECIMAL(4,4);
    DECLARE v_last VARCHAR(16);
    DECLARE v_credit CHAR(2);
    DECLARE v_o_id, v_item, v_supply, v_quantity, v_stock INT;
    DECLARE v_line INT DEFAULT 0;
    DECLARE v_price DECIMAL(5,2);
    DECLARE v_amount DECIMAL(6,2);
    DECLARE v_total DECIMAL(12,2) DEFAULT 0;
    DECLARE v_dist CHAR(24);
    DECLARE v_i_data, v_s_data VARCHAR(50);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION;
    SELECT d_next_o_id, d_tax INTO v_o_id, v_d_tax FROM district
        WHERE d_w_id = p_w_id AND d_id = p_d_id FOR UPDATE;
    UPDATE district SET d_next_o_id = v_o_id + 1 WHERE d_w_id = p_w_id AND d_id = p_d_id;
    SELECT c_discount, c_last, c_credit, w_tax INTO v_discount, v_last, v_credit, v_w_tax
        FROM customer, warehouse
        WHERE w_id = p_w_id AND c_w_id = p_w_id AND c_d_id = p_d_id AND c_id = p_c_id;
    INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
        VALUES (v_o_id, p_d_id, p_w_id, p_c_id, NOW(), NULL, p_lines, p_all_local);
    INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (v_o_id, p_d_id, p_w_id);
    WHILE v_line < p_lines DO
        SET v_item = CAST(SUBSTRING(p_items, v_line * 14 + 1, 6) AS UNSIGNED);
        SET v_supply = CAST(SUBSTRING(p_items, v_line * 14 + 7, 6) AS UNSIGNED);
        SET v_quantity = CAST(SUBSTRING(p_items, v_line * 14 + 13, 2) AS UNSIGNED);
        SET v_line = v_line + 1;
        SET v_price = NULL;
        SELECT i_price, i_data INTO v_price, v_i_data FROM item WHERE i_id = v_item;
        IF v_price IS NULL THEN
            ROLLBACK;
            SELECT 1 AS rolled_back;
            LEAVE this_order;
        END IF;
        SELECT s_quantity, s_data,
            CASE p_d_id WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
                WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07
                WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
            INTO v_stock, v_s_data, v_dist FROM stock
            WHERE s_w_id = v_supply AND s_i_id = v_item FOR UPDATE;
        UPDATE stock SET
            s_quantity = IF(v_stock >= v_quantity + 10, v_stock - v_quantity, v_stock - v_quantity + 91),
            s_ytd = s_ytd + v_quantity, s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + (v_supply <> p_w_id)
            WHERE s_w_id = v_supply AND s_i_id = v_item;
        SET v_amount = v_quantity * v_price;
        SET v_total = v_total + v_amount;
        INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
            ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
            VALUES (v_o_id, p_d_id, p_w_id, v_line, v_item, v_supply, NULL, v_quantity, v_amount, v_dist);
    END WHILE;
    COMMIT;
    SELECT 0 AS rolled_back, v_o_id, v_last, v_credit,
        v_total * (1 - v_discount) * (1 + v_w_tax + v_d_tax) AS total;
END
-- procedure tpcc_payment
CREATE PROCEDURE tpcc_payment(
    p_w_id INT, p_d_id INT, p_c_w_id INT, p_c_d_id INT, p_c_id INT, p_c_last VARCHAR(16) CHARACTER SET latin1, p_cents INT)
BEGIN
    DECLARE v_amount DECIMAL(6,2) DEFAULT p_cents / 100;
    DECLARE v_w_name, v_d_name VARCHAR(10);
    DECLARE v_c_id INT DEFAULT p_c_id;
    DECLARE v_namesakes, v_middle INT;
    DECLARE v_credit CHAR(2);
    DECLARE v_balance DECIMAL(12,2);
    DECLARE v_data VARCHAR(500);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION;
    UPDATE warehouse SET w_ytd = w_ytd + v_amount WHERE w_id = p_w_id;
    SELECT w_name INTO v_w_name FROM warehouse WHERE w_id = p_w_id;
    UPDATE district SET d_ytd = d_ytd + v_amount WHERE d_w_id = p_w_id AND d_id = p_d_id;
    SELECT d_name INTO v_d_name FROM district WHERE d_w_id = p_w_id AND d_id = p_d_id;
    IF p_c_id = 0 THEN
        SELECT COUNT(*) INTO v_namesakes FROM customer
            WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_last = p_c_last;
        SET v_middle = (v_namesakes + 1) DIV 2 - 1;
        SELECT c_id INTO v_c_id FROM customer
            WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_last = p_c_last
            ORDER BY c_first LIMIT v_middle, 1;
    END IF;
    SELECT c_credit, c_balance, c_data INTO v_credit, v_balance, v_data FROM customer
        WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_id = v_c_id FOR UPDATE;
    IF v_credit = 'BC' THEN
        SET v_data = LEFT(CONCAT(v_c_id, ' ', p_c_d_id, ' ', p_c_w_id, ' ', p_d_id, ' ', p_w_id, ' ',
            v_amount, ' ', v_data), 500);
    END IF;
    UPDATE customer SET c_balance = c_balance - v_amount, c_ytd_payment = c_ytd_payment + v_amount,
        c_payment_cnt = c_payment_cnt + 1, c_data = v_data
        WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_id = v_c_id;
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
        VALUES (v_c_id, p_c_d_id, p_c_w_id, p_d_id, p_w_id, NOW(), v_amount,
            CONCAT(v_w_name, '    ', v_d_name));
    COMMIT;
    SELECT 0 AS rolled_back, v_c_id, v_balance;
END
-- procedure tpcc_order_status
CREATE PROCEDURE tpcc_order_status(p_w_id INT, p_d_id INT, p_c_id INT, p_c_last VARCHAR(16) CHARACTER SET latin1)
BEGIN
    DECLARE v_c_id INT DEFAULT p_c_id;
    DECLARE v_namesakes, v_middle, v_o_id, v_carrier, v_lines INT;
    DECLARE v_entry, v_delivery DATETIME;
    DECLARE v_first VARCHAR(16);
    DECLARE v_balance, v_sum DECIMAL(12,2);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION;
    IF p_c_id = 0 THEN
        SELECT COUNT(*) INTO v_namesakes FROM customer
            WHERE c_w_id = p_w_id AND c_d_id = p_d_id AND c_last = p_c_last;
        SET v_middle = (v_namesakes + 1) DIV 2 - 1;
        SELECT c_id INTO v_c_id FROM customer
            WHERE c_w_id = p_w_id AND c_d_id = p_d_id AND c_last = p_c_last
            ORDER BY c_first LIMIT v_middle, 1;
    END IF;
    SELECT c_first, c_balance INTO v_first, v_balance FROM customer
        WHERE c_w_id = p_w_id AND c_d_id = p_d_id AND c_id = v_c_id;
    SELECT o_id, o_carrier_id, o_entry_d INTO v_o_id, v_carrier, v_entry FROM orders
        WHERE o_w_id = p_w_id AND o_d_id = p_d_id AND o_c_id = v_c_id ORDER BY o_id DESC LIMIT 1;
    SELECT COUNT(*), SUM(ol_amount), MAX(ol_delivery_d) INTO v_lines, v_sum, v_delivery FROM order_line
        WHERE ol_w_id = p_w_id AND ol_d_id = p_d_id AND ol_o_id = v_o_id;
    COMMIT;
    SELECT 0 AS rolled_back, v_c_id, v_o_id, v_carrier, v_lines, v_balance, v_sum;
END
-- procedure tpcc_delivery
CREATE PROCEDURE tpcc_delivery(p_w_id INT, p_carrier INT)
BEGIN
    DECLARE v_d_id INT DEFAULT 1;
    DECLARE v_skipped INT DEFAULT 0;
    DECLARE v_o_id, v_c_id INT;
    DECLARE v_sum DECIMAL(12,2);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION;
    WHILE v_d_id <= 10 DO
        SET v_o_id = NULL;
        SELECT no_o_id INTO v_o_id FROM new_order WHERE no_w_id = p_w_id AND no_d_id = v_d_id
            ORDER BY no_o_id LIMIT 1 FOR UPDATE;
        IF v_o_id IS NULL THEN
            SET v_skipped = v_skipped + 1;
        ELSE
            DELETE FROM new_order WHERE no_w_id = p_w_id AND no_d_id = v_d_id AND no_o_id = v_o_id;
            -- Updated first, read then: a row that this transaction has written is seen as it is now.
            UPDATE orders SET o_carrier_id = p_carrier
                WHERE o_w_id = p_w_id AND o_d_id = v_d_id AND o_id = v_o_id;
            SELECT o_c_id INTO v_c_id FROM orders
                WHERE o_w_id = p_w_id AND o_d_id = v_d_id AND o_id = v_o_id;
            UPDATE order_line SET ol_delivery_d = NOW()
                WHERE ol_w_id = p_w_id AND ol_d_id = v_d_id AND ol_o_id = v_o_id;
            SELECT SUM(ol_amount) INTO v_sum FROM order_line
                WHERE ol_w_id = p_w_id AND ol_d_id = v_d_id AND ol_o_id = v_o_id;
            UPDATE customer SET c_balance = c_balance + v_sum, c_delivery_cnt = c_delivery_cnt + 1
                WHERE c_w_id = p_w_id AND c_d_id = v_d_id AND c_id = v_c_id;
        END IF;
        SET v_d_id = v_d_id + 1;
    END WHILE;
    COMMIT;
    SELECT 0 AS rolled_back, v_skipped;
END
-- procedure tpcc_stock_level
CREATE PROCEDURE tpcc_stock_level(p_w_id INT, p_d_id INT, p_threshold INT)
BEGIN
    DECLARE v_next, v_low INT;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION;
    SELECT d_next_o_id INTO v_next FROM district WHERE d_w_id = p_w_id AND d_id = p_d_id;
    SELECT COUNT(DISTINCT s_i_id) INTO v_low FROM order_line, stock
        WHERE ol_w_id = p_w_id AND ol_d_id = p_d_id AND ol_o_id < v_next AND ol_o_id >= v_next - 20
        AND s_w_id = p_w_id AND s_i_id = ol_i_id AND s_quantity < p_threshold;
    COMMIT;
    SELECT 0 AS rolled_back, v_low;
END
