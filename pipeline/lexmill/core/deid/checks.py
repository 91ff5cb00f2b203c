"""Check digits and structures of Chinese identifiers, each on a folded string without separators."""

from collections.abc import Callable, Mapping
from datetime import date
from ipaddress import IPv6Address, IPv6Network
from types import MappingProxyType

from stdnum import imei, luhn
from stdnum.exceptions import ValidationError
from stdnum.iso7064 import mod_11_2

# GB/T 2260: the province codes that begin an identity number; 81-83 are residence permits of Hong Kong, Macao and Taiwan people.
PROVINCES = frozenset(
    str(code)
    for code in (
        *range(11, 16),
        *range(21, 24),
        *range(31, 38),
        *range(41, 47),
        *range(50, 55),
        *range(61, 66),
        71,
        81,
        82,
        83,
        91,
    )
)

_IPV6_NETWORKS = tuple(map(IPv6Network, ("2000::/3", "fc00::/7", "fe80::/10")))
_USCC_ALPHABET = "0123456789ABCDEFGHJKLMNPQRTUWXY"
_USCC_WEIGHTS = tuple(pow(3, i, 31) for i in range(17))
_ORG_WEIGHTS = (3, 7, 9, 10, 5, 8, 4, 2)
_VIN_VALUES = {
    **{str(d): d for d in range(10)},
    **dict(zip("ABCDEFGHJKLMNPRSTUVWXYZ", map(int, "12345678123457923456789"), strict=True)),
}
_VIN_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)


def _is_date(year: str, month: str, day: str) -> bool:
    try:
        return 1800 <= date(int(year), int(month), int(day)).year < 2100
    except ValueError:
        return False


def is_id_card(value: str) -> bool:
    """公民身份号码 of 18 characters (GB 11643-1999): province, a real date of 1800-2099, ISO 7064 MOD 11-2."""
    return (
        len(value) == 18
        and value[:17].isdigit()
        and value[:2] in PROVINCES
        and _is_date(value[6:10], value[10:12], value[12:14])
        and bool(mod_11_2.is_valid(value))
    )


def is_id_card_15(value: str) -> bool:
    """The 15-digit identity number issued until 1999: province and a real date of the 20th century; it has no check digit."""
    return (
        len(value) == 15 and value.isdigit() and value[:2] in PROVINCES and _is_date("19" + value[6:8], value[8:10], value[10:12])
    )


def is_org_code(value: str) -> bool:
    """组织机构代码 (GB 11714-1997): eight characters and a check character modulo 11."""
    if len(value) != 9 or not value.isascii() or not value[:8].isalnum():
        return False
    total = sum(weight * int(char, 36) for weight, char in zip(_ORG_WEIGHTS, value, strict=False))
    return value[8] == "0123456789X0"[11 - total % 11]


def is_uscc(value: str) -> bool:
    """统一社会信用代码 (GB 32100-2015, MOD 31-3) with the organisation code inside it (GB 11714): one alone lets much pass."""
    if len(value) != 18 or any(char not in _USCC_ALPHABET for char in value) or not value[2:8].isdigit():
        return False
    total = sum(weight * _USCC_ALPHABET.index(char) for weight, char in zip(_USCC_WEIGHTS, value, strict=False))
    return _USCC_ALPHABET[-total % 31] == value[17] and is_org_code(value[8:17])


def is_tax_number(value: str) -> bool:
    """纳税人识别号 of 15 characters (until 2015): six digits of an area, then an organisation code."""
    return len(value) == 15 and value[:6].isdigit() and value[:2] in PROVINCES and is_org_code(value[6:])


def is_vin(value: str) -> bool:
    """车辆识别代号 (GB 16735, ISO 3779): 17 characters, the ninth is a check character modulo 11."""
    if len(value) != 17 or any(char not in _VIN_VALUES for char in value):
        return False
    total = sum(weight * _VIN_VALUES[char] for weight, char in zip(_VIN_WEIGHTS, value, strict=True))
    return value[8] == "0123456789X"[total % 11]


def is_luhn(value: str) -> bool:
    """Bank cards (ISO/IEC 7812-1): the Luhn check digit."""
    return bool(luhn.is_valid(value))


def is_bank_card(value: str) -> bool:
    """A 银联 card: 16 to 19 digits that begin with 62 and pass Luhn."""
    return 16 <= len(value) <= 19 and value.startswith("62") and is_luhn(value)


def is_imei(value: str) -> bool:
    """IMEI (3GPP TS 23.003): 15 digits with a Luhn check digit."""
    try:
        return bool(imei.compact(imei.validate(value))) and len(value) == 15
    except ValidationError:
        return False


def is_lawyer_licence(value: str) -> bool:
    """律师执业证号: 1, province, city, year of first practice since 1979, kind 1-9, sex 0 or 1, six digits."""
    return (
        len(value) == 17
        and value.isdigit()
        and value[0] == "1"
        and value[1:3] in PROVINCES
        and 1979 <= int(value[5:9]) < 2100
        and value[9] != "0"
        and value[10] in "01"
    )


def is_ipv4(value: str) -> bool:
    """Four decimal octets, none of them padded."""
    octets = value.split(".")
    return len(octets) == 4 and all(part.isdigit() and part == str(int(part)) and int(part) < 256 for part in octets)


def is_ipv6(value: str) -> bool:
    """An IPv6 address (RFC 4291) of a network that is used: global unicast, unique local or link-local."""
    try:
        address = IPv6Address(value)
    except ValueError:
        return False
    return any(address in network for network in _IPV6_NETWORKS)


def is_hkid(value: str) -> bool:
    """香港身份证 without its parentheses: one or two letters, six digits, a check character; the sum by weights 9 to 1 modulo 11.

    Letters count from A = 10, a missing first letter (a blank) 36, the check character A 10.
    """
    if not 8 <= len(value) <= 9 or not value.isascii() or not value[-7:-1].isdigit() or not value[:-7].isalpha():
        return False
    if value[-1] not in "0123456789A":
        return False
    numbers = [36] * (9 - len(value)) + [int(char, 36) for char in value]
    return sum(weight * number for weight, number in zip(range(9, 0, -1), numbers, strict=True)) % 11 == 0


CHECKS: Mapping[str, Callable[[str], bool]] = MappingProxyType(
    {
        "id_card": is_id_card,
        "id_card_15": is_id_card_15,
        "org_code": is_org_code,
        "uscc": is_uscc,
        "tax_number": is_tax_number,
        "vin": is_vin,
        "luhn": is_luhn,
        "bank_card": is_bank_card,
        "imei": is_imei,
        "lawyer_licence": is_lawyer_licence,
        "ipv4": is_ipv4,
        "ipv6": is_ipv6,
        "hkid": is_hkid,
    }
)
