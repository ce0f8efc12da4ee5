"""The tables of TPC-DS as its generator makes them.

Sales, returns and the inventory change; dimensions stand still. Only key columns are known to hold no null.
Longer than most files: it is the whole schema, as data.
"""

from __future__ import annotations

from typing import Final

from slackwater.bench.workloads.workload_schema import Role, Schema, table

SCHEMA: Final = Schema(
    (
        table(
            "date_dim",
            """
            d_date_sk bigint, d_date_id string, d_date date, d_month_seq bigint, d_week_seq bigint,
            d_quarter_seq bigint, d_year bigint, d_dow bigint, d_moy bigint, d_dom bigint, d_qoy bigint,
            d_fy_year bigint, d_fy_quarter_seq bigint, d_fy_week_seq bigint, d_day_name string,
            d_quarter_name string, d_holiday string, d_weekend string, d_following_holiday string,
            d_first_dom bigint, d_last_dom bigint, d_same_day_ly bigint, d_same_day_lq bigint, d_current_day string,
            d_current_week string, d_current_month string, d_current_quarter string, d_current_year string
            """,
            key="d_date_sk",
        ),
        table(
            "time_dim",
            """
            t_time_sk bigint, t_time_id string, t_time bigint, t_hour bigint, t_minute bigint, t_second bigint,
            t_am_pm string, t_shift string, t_sub_shift string, t_meal_time string
            """,
            key="t_time_sk",
        ),
        table(
            "income_band",
            """
            ib_income_band_sk bigint, ib_lower_bound bigint, ib_upper_bound int
            """,
            key="ib_income_band_sk",
        ),
        table(
            "reason",
            """
            r_reason_sk bigint, r_reason_id string, r_reason_desc string
            """,
            key="r_reason_sk",
        ),
        table(
            "ship_mode",
            """
            sm_ship_mode_sk bigint, sm_ship_mode_id string, sm_type string, sm_code string, sm_carrier string,
            sm_contract string
            """,
            key="sm_ship_mode_sk",
        ),
        table(
            "warehouse",
            """
            w_warehouse_sk bigint, w_warehouse_id string, w_warehouse_name string, w_warehouse_sq_ft bigint,
            w_street_number string, w_street_name string, w_street_type string, w_suite_number string,
            w_city string, w_county string, w_state string, w_zip string, w_country string,
            w_gmt_offset decimal(5,2)
            """,
            key="w_warehouse_sk",
        ),
        table(
            "customer_demographics",
            """
            cd_demo_sk bigint, cd_gender string, cd_marital_status string, cd_education_status string,
            cd_purchase_estimate bigint, cd_credit_rating string, cd_dep_count bigint, cd_dep_employed_count bigint,
            cd_dep_college_count int
            """,
            key="cd_demo_sk",
        ),
        table(
            "household_demographics",
            """
            hd_demo_sk bigint, hd_income_band_sk bigint, hd_buy_potential string, hd_dep_count bigint,
            hd_vehicle_count int
            """,
            key="hd_demo_sk",
            references={
                "hd_income_band_sk": "income_band",
            },
        ),
        table(
            "customer_address",
            """
            ca_address_sk bigint, ca_address_id string, ca_street_number string, ca_street_name string,
            ca_street_type string, ca_suite_number string, ca_city string, ca_county string, ca_state string,
            ca_zip string, ca_country string, ca_gmt_offset decimal(5,2), ca_location_type string
            """,
            key="ca_address_sk",
        ),
        table(
            "customer",
            """
            c_customer_sk bigint, c_customer_id string, c_current_cdemo_sk bigint, c_current_hdemo_sk bigint,
            c_current_addr_sk bigint, c_first_shipto_date_sk bigint, c_first_sales_date_sk bigint,
            c_salutation string, c_first_name string, c_last_name string, c_preferred_cust_flag string,
            c_birth_day bigint, c_birth_month bigint, c_birth_year bigint, c_birth_country string, c_login string,
            c_email_address string, c_last_review_date_sk int
            """,
            key="c_customer_sk",
            references={
                "c_current_cdemo_sk": "customer_demographics",
                "c_current_hdemo_sk": "household_demographics",
                "c_current_addr_sk": "customer_address",
                "c_first_shipto_date_sk": "date_dim",
                "c_first_sales_date_sk": "date_dim",
            },
        ),
        table(
            "item",
            """
            i_item_sk bigint, i_item_id string, i_rec_start_date date, i_rec_end_date date, i_item_desc string,
            i_current_price decimal(7,2), i_wholesale_cost decimal(7,2), i_brand_id bigint, i_brand string,
            i_class_id bigint, i_class string, i_category_id bigint, i_category string, i_manufact_id bigint,
            i_manufact string, i_size string, i_formulation string, i_color string, i_units string,
            i_container string, i_manager_id bigint, i_product_name string
            """,
            key="i_item_sk",
        ),
        table(
            "promotion",
            """
            p_promo_sk bigint, p_promo_id string, p_start_date_sk bigint, p_end_date_sk bigint, p_item_sk bigint,
            p_cost decimal(15,2), p_response_target bigint, p_promo_name string, p_channel_dmail string,
            p_channel_email string, p_channel_catalog string, p_channel_tv string, p_channel_radio string,
            p_channel_press string, p_channel_event string, p_channel_demo string, p_channel_details string,
            p_purpose string, p_discount_active string
            """,
            key="p_promo_sk",
            references={
                "p_start_date_sk": "date_dim",
                "p_end_date_sk": "date_dim",
                "p_item_sk": "item",
            },
        ),
        table(
            "store",
            """
            s_store_sk bigint, s_store_id string, s_rec_start_date date, s_rec_end_date date,
            s_closed_date_sk bigint, s_store_name string, s_number_employees bigint, s_floor_space bigint,
            s_hours string, s_manager string, s_market_id bigint, s_geography_class string, s_market_desc string,
            s_market_manager string, s_division_id bigint, s_division_name string, s_company_id bigint,
            s_company_name string, s_street_number string, s_street_name string, s_street_type string,
            s_suite_number string, s_city string, s_county string, s_state string, s_zip string, s_country string,
            s_gmt_offset decimal(5,2), s_tax_percentage decimal(5,2)
            """,
            key="s_store_sk",
        ),
        table(
            "call_center",
            """
            cc_call_center_sk bigint, cc_call_center_id string, cc_rec_start_date date, cc_rec_end_date date,
            cc_closed_date_sk bigint, cc_open_date_sk bigint, cc_name string, cc_class string, cc_employees bigint,
            cc_sq_ft bigint, cc_hours string, cc_manager string, cc_mkt_id bigint, cc_mkt_class string,
            cc_mkt_desc string, cc_market_manager string, cc_division bigint, cc_division_name string,
            cc_company bigint, cc_company_name string, cc_street_number string, cc_street_name string,
            cc_street_type string, cc_suite_number string, cc_city string, cc_county string, cc_state string,
            cc_zip string, cc_country string, cc_gmt_offset decimal(5,2), cc_tax_percentage decimal(5,2)
            """,
            key="cc_call_center_sk",
        ),
        table(
            "catalog_page",
            """
            cp_catalog_page_sk bigint, cp_catalog_page_id string, cp_start_date_sk bigint, cp_end_date_sk bigint,
            cp_department string, cp_catalog_number bigint, cp_catalog_page_number bigint, cp_description string,
            cp_type string
            """,
            key="cp_catalog_page_sk",
            references={
                "cp_start_date_sk": "date_dim",
                "cp_end_date_sk": "date_dim",
            },
        ),
        table(
            "web_site",
            """
            web_site_sk bigint, web_site_id string, web_rec_start_date date, web_rec_end_date date, web_name string,
            web_open_date_sk bigint, web_close_date_sk bigint, web_class string, web_manager string,
            web_mkt_id bigint, web_mkt_class string, web_mkt_desc string, web_market_manager string,
            web_company_id bigint, web_company_name string, web_street_number string, web_street_name string,
            web_street_type string, web_suite_number string, web_city string, web_county string, web_state string,
            web_zip string, web_country string, web_gmt_offset decimal(5,2), web_tax_percentage decimal(5,2)
            """,
            key="web_site_sk",
        ),
        table(
            "web_page",
            """
            wp_web_page_sk bigint, wp_web_page_id string, wp_rec_start_date date, wp_rec_end_date date,
            wp_creation_date_sk bigint, wp_access_date_sk bigint, wp_autogen_flag string, wp_customer_sk bigint,
            wp_url string, wp_type string, wp_char_count bigint, wp_link_count bigint, wp_image_count bigint,
            wp_max_ad_count int
            """,
            key="wp_web_page_sk",
            references={
                "wp_creation_date_sk": "date_dim",
                "wp_access_date_sk": "date_dim",
                "wp_customer_sk": "customer",
            },
        ),
        table(
            "inventory",
            """
            inv_date_sk bigint, inv_item_sk bigint, inv_warehouse_sk bigint, inv_quantity_on_hand int
            """,
            key="inv_date_sk inv_item_sk inv_warehouse_sk",
            role=Role.STOCK,
            references={
                "inv_date_sk": "date_dim",
                "inv_item_sk": "item",
                "inv_warehouse_sk": "warehouse",
            },
            skew_by="inv_item_sk",
        ),
        table(
            "store_sales",
            """
            ss_sold_date_sk bigint, ss_sold_time_sk bigint, ss_item_sk bigint, ss_customer_sk bigint,
            ss_cdemo_sk bigint, ss_hdemo_sk bigint, ss_addr_sk bigint, ss_store_sk bigint, ss_promo_sk bigint,
            ss_ticket_number bigint, ss_quantity bigint, ss_wholesale_cost decimal(7,2), ss_list_price decimal(7,2),
            ss_sales_price decimal(7,2), ss_ext_discount_amt decimal(7,2), ss_ext_sales_price decimal(7,2),
            ss_ext_wholesale_cost decimal(7,2), ss_ext_list_price decimal(7,2), ss_ext_tax decimal(7,2),
            ss_coupon_amt decimal(7,2), ss_net_paid decimal(7,2), ss_net_paid_inc_tax decimal(7,2),
            ss_net_profit decimal(7,2)
            """,
            key="ss_item_sk ss_ticket_number",
            role=Role.SALES,
            references={
                "ss_sold_date_sk": "date_dim",
                "ss_sold_time_sk": "time_dim",
                "ss_item_sk": "item",
                "ss_customer_sk": "customer",
                "ss_cdemo_sk": "customer_demographics",
                "ss_hdemo_sk": "household_demographics",
                "ss_addr_sk": "customer_address",
                "ss_store_sk": "store",
                "ss_promo_sk": "promotion",
            },
            unit="ss_ticket_number",
            skew_by="ss_item_sk",
            measure="ss_net_profit",
        ),
        table(
            "catalog_sales",
            """
            cs_sold_date_sk bigint, cs_sold_time_sk bigint, cs_ship_date_sk bigint, cs_bill_customer_sk bigint,
            cs_bill_cdemo_sk bigint, cs_bill_hdemo_sk bigint, cs_bill_addr_sk bigint, cs_ship_customer_sk bigint,
            cs_ship_cdemo_sk bigint, cs_ship_hdemo_sk bigint, cs_ship_addr_sk bigint, cs_call_center_sk bigint,
            cs_catalog_page_sk bigint, cs_ship_mode_sk bigint, cs_warehouse_sk bigint, cs_item_sk bigint,
            cs_promo_sk bigint, cs_order_number bigint, cs_quantity bigint, cs_wholesale_cost decimal(7,2),
            cs_list_price decimal(7,2), cs_sales_price decimal(7,2), cs_ext_discount_amt decimal(7,2),
            cs_ext_sales_price decimal(7,2), cs_ext_wholesale_cost decimal(7,2), cs_ext_list_price decimal(7,2),
            cs_ext_tax decimal(7,2), cs_coupon_amt decimal(7,2), cs_ext_ship_cost decimal(7,2),
            cs_net_paid decimal(7,2), cs_net_paid_inc_tax decimal(7,2), cs_net_paid_inc_ship decimal(7,2),
            cs_net_paid_inc_ship_tax decimal(7,2), cs_net_profit decimal(7,2)
            """,
            key="cs_item_sk cs_order_number",
            role=Role.SALES,
            references={
                "cs_sold_date_sk": "date_dim",
                "cs_sold_time_sk": "time_dim",
                "cs_ship_date_sk": "date_dim",
                "cs_bill_customer_sk": "customer",
                "cs_bill_cdemo_sk": "customer_demographics",
                "cs_bill_hdemo_sk": "household_demographics",
                "cs_bill_addr_sk": "customer_address",
                "cs_ship_customer_sk": "customer",
                "cs_ship_cdemo_sk": "customer_demographics",
                "cs_ship_hdemo_sk": "household_demographics",
                "cs_ship_addr_sk": "customer_address",
                "cs_call_center_sk": "call_center",
                "cs_catalog_page_sk": "catalog_page",
                "cs_ship_mode_sk": "ship_mode",
                "cs_warehouse_sk": "warehouse",
                "cs_item_sk": "item",
                "cs_promo_sk": "promotion",
            },
            unit="cs_order_number",
            skew_by="cs_item_sk",
            measure="cs_net_profit",
        ),
        table(
            "web_sales",
            """
            ws_sold_date_sk bigint, ws_sold_time_sk bigint, ws_ship_date_sk bigint, ws_item_sk bigint,
            ws_bill_customer_sk bigint, ws_bill_cdemo_sk bigint, ws_bill_hdemo_sk bigint, ws_bill_addr_sk bigint,
            ws_ship_customer_sk bigint, ws_ship_cdemo_sk bigint, ws_ship_hdemo_sk bigint, ws_ship_addr_sk bigint,
            ws_web_page_sk bigint, ws_web_site_sk bigint, ws_ship_mode_sk bigint, ws_warehouse_sk bigint,
            ws_promo_sk bigint, ws_order_number bigint, ws_quantity bigint, ws_wholesale_cost decimal(7,2),
            ws_list_price decimal(7,2), ws_sales_price decimal(7,2), ws_ext_discount_amt decimal(7,2),
            ws_ext_sales_price decimal(7,2), ws_ext_wholesale_cost decimal(7,2), ws_ext_list_price decimal(7,2),
            ws_ext_tax decimal(7,2), ws_coupon_amt decimal(7,2), ws_ext_ship_cost decimal(7,2),
            ws_net_paid decimal(7,2), ws_net_paid_inc_tax decimal(7,2), ws_net_paid_inc_ship decimal(7,2),
            ws_net_paid_inc_ship_tax decimal(7,2), ws_net_profit decimal(7,2)
            """,
            key="ws_item_sk ws_order_number",
            role=Role.SALES,
            references={
                "ws_sold_date_sk": "date_dim",
                "ws_sold_time_sk": "time_dim",
                "ws_ship_date_sk": "date_dim",
                "ws_item_sk": "item",
                "ws_bill_customer_sk": "customer",
                "ws_bill_cdemo_sk": "customer_demographics",
                "ws_bill_hdemo_sk": "household_demographics",
                "ws_bill_addr_sk": "customer_address",
                "ws_ship_customer_sk": "customer",
                "ws_ship_cdemo_sk": "customer_demographics",
                "ws_ship_hdemo_sk": "household_demographics",
                "ws_ship_addr_sk": "customer_address",
                "ws_web_page_sk": "web_page",
                "ws_web_site_sk": "web_site",
                "ws_ship_mode_sk": "ship_mode",
                "ws_warehouse_sk": "warehouse",
                "ws_promo_sk": "promotion",
            },
            unit="ws_order_number",
            skew_by="ws_item_sk",
            measure="ws_net_profit",
        ),
        table(
            "store_returns",
            """
            sr_returned_date_sk bigint, sr_return_time_sk bigint, sr_item_sk bigint, sr_customer_sk bigint,
            sr_cdemo_sk bigint, sr_hdemo_sk bigint, sr_addr_sk bigint, sr_store_sk bigint, sr_reason_sk bigint,
            sr_ticket_number bigint, sr_return_quantity bigint, sr_return_amt decimal(7,2),
            sr_return_tax decimal(7,2), sr_return_amt_inc_tax decimal(7,2), sr_fee decimal(7,2),
            sr_return_ship_cost decimal(7,2), sr_refunded_cash decimal(7,2), sr_reversed_charge decimal(7,2),
            sr_store_credit decimal(7,2), sr_net_loss decimal(7,2)
            """,
            key="sr_item_sk sr_ticket_number",
            role=Role.RETURNS,
            references={
                "sr_item_sk sr_ticket_number": "store_sales",
                "sr_returned_date_sk": "date_dim",
                "sr_return_time_sk": "time_dim",
                "sr_item_sk": "item",
                "sr_customer_sk": "customer",
                "sr_cdemo_sk": "customer_demographics",
                "sr_hdemo_sk": "household_demographics",
                "sr_addr_sk": "customer_address",
                "sr_store_sk": "store",
                "sr_reason_sk": "reason",
            },
            owner="store_sales",
            unit="sr_ticket_number",
            skew_by="sr_item_sk",
            measure="sr_net_loss",
        ),
        table(
            "catalog_returns",
            """
            cr_returned_date_sk bigint, cr_returned_time_sk bigint, cr_item_sk bigint,
            cr_refunded_customer_sk bigint, cr_refunded_cdemo_sk bigint, cr_refunded_hdemo_sk bigint,
            cr_refunded_addr_sk bigint, cr_returning_customer_sk bigint, cr_returning_cdemo_sk bigint,
            cr_returning_hdemo_sk bigint, cr_returning_addr_sk bigint, cr_call_center_sk bigint,
            cr_catalog_page_sk bigint, cr_ship_mode_sk bigint, cr_warehouse_sk bigint, cr_reason_sk bigint,
            cr_order_number bigint, cr_return_quantity bigint, cr_return_amount decimal(7,2),
            cr_return_tax decimal(7,2), cr_return_amt_inc_tax decimal(7,2), cr_fee decimal(7,2),
            cr_return_ship_cost decimal(7,2), cr_refunded_cash decimal(7,2), cr_reversed_charge decimal(7,2),
            cr_store_credit decimal(7,2), cr_net_loss decimal(7,2)
            """,
            key="cr_item_sk cr_order_number",
            role=Role.RETURNS,
            references={
                "cr_item_sk cr_order_number": "catalog_sales",
                "cr_returned_date_sk": "date_dim",
                "cr_returned_time_sk": "time_dim",
                "cr_item_sk": "item",
                "cr_refunded_customer_sk": "customer",
                "cr_refunded_cdemo_sk": "customer_demographics",
                "cr_refunded_hdemo_sk": "household_demographics",
                "cr_refunded_addr_sk": "customer_address",
                "cr_returning_customer_sk": "customer",
                "cr_returning_cdemo_sk": "customer_demographics",
                "cr_returning_hdemo_sk": "household_demographics",
                "cr_returning_addr_sk": "customer_address",
                "cr_call_center_sk": "call_center",
                "cr_catalog_page_sk": "catalog_page",
                "cr_ship_mode_sk": "ship_mode",
                "cr_warehouse_sk": "warehouse",
                "cr_reason_sk": "reason",
            },
            owner="catalog_sales",
            unit="cr_order_number",
            skew_by="cr_item_sk",
            measure="cr_net_loss",
        ),
        table(
            "web_returns",
            """
            wr_returned_date_sk bigint, wr_returned_time_sk bigint, wr_item_sk bigint,
            wr_refunded_customer_sk bigint, wr_refunded_cdemo_sk bigint, wr_refunded_hdemo_sk bigint,
            wr_refunded_addr_sk bigint, wr_returning_customer_sk bigint, wr_returning_cdemo_sk bigint,
            wr_returning_hdemo_sk bigint, wr_returning_addr_sk bigint, wr_web_page_sk bigint, wr_reason_sk bigint,
            wr_order_number bigint, wr_return_quantity bigint, wr_return_amt decimal(7,2),
            wr_return_tax decimal(7,2), wr_return_amt_inc_tax decimal(7,2), wr_fee decimal(7,2),
            wr_return_ship_cost decimal(7,2), wr_refunded_cash decimal(7,2), wr_reversed_charge decimal(7,2),
            wr_account_credit decimal(7,2), wr_net_loss decimal(7,2)
            """,
            key="wr_item_sk wr_order_number",
            role=Role.RETURNS,
            references={
                "wr_item_sk wr_order_number": "web_sales",
                "wr_returned_date_sk": "date_dim",
                "wr_returned_time_sk": "time_dim",
                "wr_item_sk": "item",
                "wr_refunded_customer_sk": "customer",
                "wr_refunded_cdemo_sk": "customer_demographics",
                "wr_refunded_hdemo_sk": "household_demographics",
                "wr_refunded_addr_sk": "customer_address",
                "wr_returning_customer_sk": "customer",
                "wr_returning_cdemo_sk": "customer_demographics",
                "wr_returning_hdemo_sk": "household_demographics",
                "wr_returning_addr_sk": "customer_address",
                "wr_web_page_sk": "web_page",
                "wr_reason_sk": "reason",
            },
            owner="web_sales",
            unit="wr_order_number",
            skew_by="wr_item_sk",
            measure="wr_net_loss",
        ),
    )
)
