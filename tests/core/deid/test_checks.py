"""Check digits: known right values, and every single wrong digit is noticed."""

import pytest

from lexmill.core.deid.checks import CHECKS


@pytest.mark.parametrize(
    ("check", "value"),
    [
        ("id_card", "110105208801012366"),
        ("id_card", "330106208803150022"),
        ("id_card_15", "110105880101236"),
        ("uscc", "91350100M000100Y43"),
        ("org_code", "600037341"),
        ("tax_number", "110105600037341"),
        ("vin", "1M8GDM9AXKP042788"),
        ("luhn", "6222000011112223"),
        ("bank_card", "6222000011112223"),
        ("imei", "490154203237518"),
        ("lawyer_licence", "13301209910000001"),
        ("ipv4", "192.0.2.17"),
        ("ipv6", "2001:db8::1"),
        ("ipv6", "fe80:0:0:0:0:0:0:1"),
        ("hkid", "A1234563"),
        ("hkid", "Z0000001"),
        ("hkid", "AB0000009"),
    ],
)
def test_right_values(check: str, value: str) -> None:
    assert CHECKS[check](value)


@pytest.mark.parametrize(
    ("check", "value"),
    [
        ("id_card", "110105208802302361"),  # 30 February
        ("id_card", "99010520880101236X"),  # no such province
        ("id_card_15", "110105881301236"),
        ("uscc", "91350100I000100Y43"),  # I is not in the alphabet
        ("org_code", "60003734"),
        ("tax_number", "11010560003734X"),
        ("vin", "1M8GDM9AOKP042788"),
        ("bank_card", "4222000011112223"),
        ("imei", "490154203237519"),
        ("lawyer_licence", "13301197810000001"),  # before 1979
        ("ipv4", "192.0.2.256"),
        ("ipv4", "1.2.3"),
        ("ipv6", "2001:db8::1::2"),
        ("ipv6", "::1"),  # every machine's own
        ("hkid", "A1234564"),
        ("hkid", "1234563"),
    ],
)
def test_wrong_values(check: str, value: str) -> None:
    assert not CHECKS[check](value)


@pytest.mark.parametrize(
    ("check", "value"),
    [("id_card", "110105208801012366"), ("vin", "1M8GDM9AXKP042788"), ("luhn", "6222000011112223"), ("hkid", "A1234563")],
)
def test_each_changed_digit_is_noticed(check: str, value: str) -> None:
    for place, digit in enumerate(value):
        if digit.isdigit():
            changed = value[:place] + str((int(digit) + 1) % 10) + value[place + 1 :]
            assert not CHECKS[check](changed), changed
