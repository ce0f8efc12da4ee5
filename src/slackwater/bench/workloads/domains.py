"""How many values the columns of the workloads have, where that does not grow with the scale factor.

Counted once in generated data at scale factor 1; column names are unique within a workload.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final


def _counts(text: str) -> Mapping[str, int]:
    pairs = (entry.split("=") for entry in text.split())
    return MappingProxyType({column: int(count) for column, count in pairs})


VALUES: Final[Mapping[str, Mapping[str, int]]] = MappingProxyType(
    {
        "tpch": _counts(
            """
            s_nationkey=25 c_nationkey=25 c_mktsegment=5 p_mfgr=5 p_brand=25 p_type=150 p_size=50 p_container=40
            ps_availqty=9999 o_orderstatus=3 o_orderdate=2406 o_orderpriority=5 o_shippriority=1
            l_linenumber=7 l_quantity=50 l_discount=11 l_tax=9 l_returnflag=3 l_linestatus=2 l_shipdate=2526
            l_commitdate=2466 l_receiptdate=2554 l_shipinstruct=4 l_shipmode=7
            """
        ),
        "tpcds": _counts(
            """
            d_month_seq=2401 d_week_seq=10436 d_quarter_seq=801 d_year=201 d_dow=7 d_moy=12 d_dom=31 d_qoy=4
            d_fy_year=201 d_fy_quarter_seq=801 d_fy_week_seq=10436 d_day_name=7 d_quarter_name=801 d_holiday=2
            d_weekend=2 d_following_holiday=2 d_first_dom=2401 d_last_dom=2401 d_current_day=1 d_current_week=1
            d_current_month=2 d_current_quarter=2 d_current_year=2 t_hour=24 t_minute=60 t_second=60 t_am_pm=2 t_shift=3
            t_sub_shift=4 t_meal_time=4 cd_gender=2 cd_marital_status=5 cd_education_status=7 cd_purchase_estimate=20
            cd_credit_rating=4 cd_dep_count=7 hd_income_band_sk=20 hd_buy_potential=6 hd_dep_count=10 hd_vehicle_count=6
            ca_street_number=1000 ca_street_type=20 ca_suite_number=75 ca_city=695 ca_county=1846 ca_state=51
            ca_zip=3698 ca_country=1 ca_gmt_offset=6 ca_location_type=3 c_first_shipto_date_sk=3651
            c_first_sales_date_sk=3651 c_salutation=6 c_preferred_cust_flag=2 c_birth_day=31 c_birth_month=12
            c_birth_year=69 c_birth_country=211 c_login=1 c_last_review_date_sk=366 i_rec_start_date=4 i_rec_end_date=3
            i_brand_id=948 i_brand=712 i_class_id=16 i_class=99 i_category_id=10 i_category=10 i_manufact_id=994
            i_manufact=989 i_size=7 i_color=92 i_units=21 i_container=1 i_manager_id=100 p_cost=1 p_response_target=1
            p_promo_name=10 p_channel_dmail=2 p_channel_email=1 p_channel_catalog=1 p_channel_tv=1 p_channel_radio=1
            p_channel_press=1 p_channel_event=1 p_channel_demo=1 p_purpose=1 p_discount_active=1 cp_start_date_sk=91
            cp_end_date_sk=97 cp_department=1 cp_catalog_number=109 cp_catalog_page_number=108 cp_type=3 inv_date_sk=261
            inv_quantity_on_hand=1001 ss_sold_date_sk=1823 ss_hdemo_sk=7200 ss_quantity=100 ss_wholesale_cost=9901
            ss_list_price=19727 cs_sold_date_sk=1830 cs_ship_date_sk=1921 cs_bill_hdemo_sk=7200 cs_ship_hdemo_sk=7200
            cs_catalog_page_sk=6588 cs_ship_mode_sk=20 cs_quantity=100 cs_wholesale_cost=9901 ws_sold_date_sk=1823
            ws_ship_date_sk=1945 ws_ship_mode_sk=20 ws_quantity=100 ws_wholesale_cost=9901 sr_returned_date_sk=2003
            sr_hdemo_sk=7200 sr_return_quantity=100 sr_fee=9951 cr_returned_date_sk=2055 cr_ship_mode_sk=20
            cr_return_quantity=100 wr_returned_date_sk=2114 wr_return_quantity=100
            """
        ),
    }
)
