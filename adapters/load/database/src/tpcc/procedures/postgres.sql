-- procedure tpcc_new_order
CREATE PROCEDURE tpcc_new_order(
    p_w_id INT, p_d_id INT, p_c_id INT, p_lines INT, p_all_local INT, p_items TEXT, INOUT rolled_back INT)
LANGUAGE plpgsql AS $$
-- p_items: of each line six digits of item, six of warehouse, two of quantity.
DECLARE
    v_discount DECIMAL; v_w_tax DECIMAL; v_d_tax DECIMAL; v_last TEXT; v_credit TEXT;
    v_o_id INT; v_item INT; v_supply INT; v_quantity INT; v_stock INT;
    v_price DECIMAL; v_total DECIMAL := 0; v_i_data TEXT; v_s_data TEXT; v_dist TEXT;
BEGIN
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = p_w_id AND d_id = p_d_id
        RETURNING d_next_o_id - 1, d_tax INTO v_o_id, v_d_tax;
    SELECT c_discount, c_last, c_credit, w_tax INTO v_discount, v_last, v_credit, v_w_tax
        FROM customer, warehouse
        WHERE w_id = p_w_id AND c_w_id = p_w_id AND c_d_id = p_d_id AND c_id = p_c_id;
    INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
        VALUES (v_o_id, p_d_id, p_w_id, p_c_id, LOCALTIMESTAMP, NULL, p_lines, p_all_local);
    INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (v_o_id, p_d_id, p_w_id);
    FOR v_line IN 1 .. p_lines LOOP
        v_item := substring(p_items, v_line * 14 - 13, 6)::int;
        v_supply := substring(p_items, v_line * 14 - 7, 6)::int;
        v_quantity := substring(p_items, v_line * 14 - 1, 2)::int;
        SELECT i_price, i_data INTO v_price, v_i_data FROM item WHERE i_id = v_item;
        IF NOT FOUND THEN
            ROLLBACK;
            rolled_back := 1;
            RETURN;
        END IF;
        UPDATE stock SET
            s_quantity = CASE WHEN s_quantity >= v_quantity + 10 THEN s_quantity - v_quantity
                ELSE s_quantity - v_quantity + 91 END,
            s_ytd = s_ytd + v_quantity, s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + CASE WHEN v_supply <> p_w_id THEN 1 ELSE 0 END
            WHERE s_w_id = v_supply AND s_i_id = v_item
            RETURNING s_quantity, s_data, CASE p_d_id WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02
                WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06
                WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
            INTO v_stock, v_s_data, v_dist;
        v_total := v_total + v_quantity * v_price;
        INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
            ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
            VALUES (v_o_id, p_d_id, p_w_id, v_line, v_item, v_supply, NULL, v_quantity,
                v_quantity * v_price, v_dist);
    END LOOP;
    v_total := v_total * (1 - v_discount) * (1 + v_w_tax + v_d_tax);
    rolled_back := 0;
END $$
-- procedure tpcc_payment
CREATE PROCEDURE tpcc_payment(
    p_w_id INT, p_d_id INT, p_c_w_id INT, p_c_d_id INT, p_c_id INT, p_c_last TEXT, p_cents INT,
    INOUT rolled_back INT)
LANGUAGE plpgsql AS $$
DECLARE
    v_amount DECIMAL(6,2) := p_cents / 100.0;
    v_w_name TEXT; v_d_name TEXT; v_c_id INT := p_c_id; v_namesakes INT; v_credit TEXT;
    v_balance DECIMAL; v_data TEXT;
BEGIN
    UPDATE warehouse SET w_ytd = w_ytd + v_amount WHERE w_id = p_w_id RETURNING w_name INTO v_w_name;
    UPDATE district SET d_ytd = d_ytd + v_amount WHERE d_w_id = p_w_id AND d_id = p_d_id
        RETURNING d_name INTO v_d_name;
    IF p_c_id = 0 THEN
        SELECT COUNT(*) INTO v_namesakes FROM customer
            WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_last = p_c_last;
        SELECT c_id INTO v_c_id FROM customer
            WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_last = p_c_last
            ORDER BY c_first LIMIT 1 OFFSET (v_namesakes + 1) / 2 - 1;
    END IF;
    SELECT c_credit, c_balance, c_data INTO v_credit, v_balance, v_data FROM customer
        WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_id = v_c_id FOR UPDATE;
    IF v_credit = 'BC' THEN
        v_data := left(concat_ws(' ', v_c_id, p_c_d_id, p_c_w_id, p_d_id, p_w_id, v_amount, v_data), 500);
    END IF;
    UPDATE customer SET c_balance = c_balance - v_amount, c_ytd_payment = c_ytd_payment + v_amount,
        c_payment_cnt = c_payment_cnt + 1, c_data = v_data
        WHERE c_w_id = p_c_w_id AND c_d_id = p_c_d_id AND c_id = v_c_id;
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
        VALUES (v_c_id, p_c_d_id, p_c_w_id, p_d_id, p_w_id, LOCALTIMESTAMP, v_amount,
            v_w_name || '    ' || v_d_name);
    rolled_back := 0;
END $$
-- procedure tpcc_order_status
CREATE PROCEDURE tpcc_order_status(
    p_w_id INT, p_d_id INT, p_c_id INT, p_c_last TEXT, INOUT rolled_back INT)
LANGUAGE plpgsql AS $$
DECLARE
    v_c_id INT := p_c_id; v_namesakes INT; v_o_id INT; v_carrier INT; v_lines INT;
    v_entry TIMESTAMP; v_delivery TIMESTAMP; v_first TEXT; v_balance DECIMAL; v_sum DECIMAL;
BEGIN
    IF p_c_id = 0 THEN
        SELECT COUNT(*) INTO v_namesakes FROM customer
            WHERE c_w_id = p_w_id AND c_d_id = p_d_id AND c_last = p_c_last;
        SELECT c_id INTO v_c_id FROM customer
            WHERE c_w_id = p_w_id AND c_d_id = p_d_id AND c_last = p_c_last
            ORDER BY c_first LIMIT 1 OFFSET (v_namesakes + 1) / 2 - 1;
    END IF;
    SELECT c_first, c_balance INTO v_first, v_balance FROM customer
        WHERE c_w_id = p_w_id AND c_d_id = p_d_id AND c_id = v_c_id;
    SELECT o_id, o_carrier_id, o_entry_d INTO v_o_id, v_carrier, v_entry FROM orders
        WHERE o_w_id = p_w_id AND o_d_id = p_d_id AND o_c_id = v_c_id ORDER BY o_id DESC LIMIT 1;
    SELECT COUNT(*), SUM(ol_amount), MAX(ol_delivery_d) INTO v_lines, v_sum, v_delivery FROM order_line
        WHERE ol_w_id = p_w_id AND ol_d_id = p_d_id AND ol_o_id = v_o_id;
    rolled_back := 0;
END $$
-- procedure tpcc_delivery
CREATE PROCEDURE tpcc_delivery(p_w_id INT, p_carrier INT, INOUT rolled_back INT)
LANGUAGE plpgsql AS $$
DECLARE
    v_o_id INT; v_c_id INT; v_sum DECIMAL;
BEGIN
    FOR v_d_id IN 1 .. 10 LOOP
        -- Whoever waited here for another delivery finds the row gone, and skips the district.
        SELECT no_o_id INTO v_o_id FROM new_order WHERE no_w_id = p_w_id AND no_d_id = v_d_id
            ORDER BY no_o_id LIMIT 1 FOR UPDATE;
        CONTINUE WHEN NOT FOUND;
        DELETE FROM new_order WHERE no_w_id = p_w_id AND no_d_id = v_d_id AND no_o_id = v_o_id;
        UPDATE orders SET o_carrier_id = p_carrier
            WHERE o_w_id = p_w_id AND o_d_id = v_d_id AND o_id = v_o_id RETURNING o_c_id INTO v_c_id;
        UPDATE order_line SET ol_delivery_d = LOCALTIMESTAMP
            WHERE ol_w_id = p_w_id AND ol_d_id = v_d_id AND ol_o_id = v_o_id;
        SELECT SUM(ol_amount) INTO v_sum FROM order_line
            WHERE ol_w_id = p_w_id AND ol_d_id = v_d_id AND ol_o_id = v_o_id;
        UPDATE customer SET c_balance = c_balance + v_sum, c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = p_w_id AND c_d_id = v_d_id AND c_id = v_c_id;
    END LOOP;
    rolled_back := 0;
END $$
-- procedure tpcc_stock_level
CREATE PROCEDURE tpcc_stock_level(p_w_id INT, p_d_id INT, p_threshold INT, INOUT rolled_back INT)
LANGUAGE plpgsql AS $$
DECLARE
    v_next INT; v_low INT;
BEGIN
    SELECT d_next_o_id INTO v_next FROM district WHERE d_w_id = p_w_id AND d_id = p_d_id;
    SELECT COUNT(DISTINCT s_i_id) INTO v_low FROM order_line, stock
        WHERE ol_w_id = p_w_id AND ol_d_id = p_d_id AND ol_o_id < v_next AND ol_o_id >= v_next - 20
        AND s_w_id = p_w_id AND s_i_id = ol_i_id AND s_quantity < p_threshold;
    rolled_back := 0;
END $$
