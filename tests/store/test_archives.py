"""Archives: names as they were written, nothing on disk, every member an outcome, every bomb a limit."""

import io
import struct
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import replace

import py7zr
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexmill.config import Ingest
from lexmill.core.ingest.limits import Allowance, Limits
from lexmill.errors import DocumentError, StoppedError
from lexmill.store.archives import Member, list_members, read_members, unpack
from tests.made import make_7z, make_tar, make_zip

LIMITS = Limits.of(Ingest())
FILES = {"卷宗/判决书.txt": "判决".encode(), "空.txt": b"", "b.jsonl": b"{}\n" * 20}


MAKE: dict[str, Callable[[Mapping[str, bytes]], bytes]] = {"zip": make_zip, "tar": make_tar, "7z": make_7z}
MADE = {fmt: make(FILES) for fmt, make in MAKE.items()}


def members(data: bytes, fmt: str, start: int = 0, end: int = -1, limits: Limits = LIMITS) -> list[Member | None]:
    allowance = Allowance.whole(len(data), limits)
    return list(read_members(io.BytesIO(data), fmt, start, end, limits, allowance))


def rule_of(data: bytes, fmt: str, limits: Limits = LIMITS) -> str:
    with pytest.raises(DocumentError) as caught:
        members(data, fmt, limits=limits)
    return caught.value.rule


@pytest.mark.parametrize("fmt", sorted(MAKE))
def test_every_member_in_order_and_by_range(fmt: str) -> None:
    data = MAKE[fmt](FILES)
    whole = members(data, fmt)
    assert whole == [Member(name, content, None) for name, content in FILES.items()]
    assert [member for start in range(3) for member in members(data, fmt, start, start + 1)] == whole
    assert [(entry.number, entry.name, entry.size) for entry in list_members(io.BytesIO(data), fmt, LIMITS)] == [
        (number, name, len(content)) for number, (name, content) in enumerate(FILES.items())
    ]


@pytest.mark.parametrize("fmt", sorted(MAKE))
def test_what_systems_leave_is_skipped(fmt: str) -> None:
    files = {"__MACOSX/._a.txt": b"x", "a/.DS_Store": b"x", "Thumbs.db": b"x", "._b.txt": b"x", "a.txt": b"a"}
    assert members(MAKE[fmt](files), fmt) == [None, None, None, None, Member("a.txt", b"a", None)]


def test_names_without_the_utf8_flag() -> None:
    data = make_zip({"x" * len("合同/誠信.txt".encode("gb18030")): b"1", "y" * len("判决.txt".encode()): b"2"})
    data = data.replace(b"x" * len("合同/誠信.txt".encode("gb18030")), "合同\\誠信.txt".encode("gb18030"))
    data = data.replace(b"y" * len("判决.txt".encode()), "判决.txt".encode())
    assert [member.name for member in members(data, "zip") if member] == ["合同/誠信.txt", "判决.txt"]


def test_tar_names_in_gb18030() -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT, encoding="gb18030") as archive:
        archive.addfile(tarfile.TarInfo("合同/租赁.txt"))
    assert [member.name for member in members(out.getvalue(), "tar") if member] == ["合同/租赁.txt"]


class Stream(io.BytesIO):
    """What a decompressor gives: bytes in order."""

    def seekable(self) -> bool:
        return False


TEN = make_tar({f"{number}.txt": b"x" * 9 for number in range(10)})


def broken_tar(at: int, field: slice, value: bytes) -> bytes:
    """Ten members, the header of the one at ``at`` with other bytes in a field, and a checksum that is right again."""
    data = bytearray(TEN)
    header = data[1024 * at : 1024 * at + 512]
    header[field] = value
    header[148:156] = b" " * 8
    header[148:156] = f"{sum(header):06o}\0 ".encode()
    data[1024 * at : 1024 * at + 512] = header
    return bytes(data)


NEGATIVE = b"\xff" * 10 + b"\xfe\x00"
DAMAGES = {
    "a damaged header": TEN.replace(b"5.txt", b"5!txt"),
    "a negative size": broken_tar(5, slice(124, 136), NEGATIVE),
    "a size that nobody has": broken_tar(5, slice(124, 136), b"\x80" + (1 << 40).to_bytes(11, "big")),
    "a header of zeros": TEN[:5120] + bytes(512) + TEN[5632:],
    "no end": make_tar({f"{number}.txt": b"x" * 9 for number in range(6)})[: 6 * 1024],
}


@pytest.mark.parametrize("kind", DAMAGES)
@pytest.mark.parametrize("stream", [io.BytesIO, Stream])
def test_a_tar_never_ends_in_silence(kind: str, stream: type[io.BytesIO]) -> None:
    file = stream(DAMAGES[kind])
    names, rule = [], ""
    try:
        for member in read_members(file, "tar", 0, -1, LIMITS, Allowance.whole(len(DAMAGES[kind]), LIMITS)):
            assert member is not None
            names.append(member.name)
    except DocumentError as error:
        rule = error.rule
    assert rule == "ingest.broken_archive"
    assert names[:5] == [f"{number}.txt" for number in range(5)]
    with pytest.raises(DocumentError, match=r"ingest\.broken_archive"):
        list_members(stream(DAMAGES[kind]), "tar", LIMITS)


@pytest.mark.parametrize("stream", [io.BytesIO, Stream])
@pytest.mark.parametrize(("behind", "more"), [(b"", []), (make_tar({"b.txt": b"b"}), ["b.txt"]), (b"junk" * 999, [])])
def test_what_follows_the_end_of_a_tar_is_another_or_none_of_it(stream: type[io.BytesIO], behind: bytes, more: list[str]) -> None:
    data = make_tar({"a.txt": b"a"}) + behind
    found = list(read_members(stream(data), "tar", 0, -1, LIMITS, Allowance.whole(len(data), LIMITS)))
    assert [member.name for member in found if member] == ["a.txt", *more]
    assert len(list_members(stream(data), "tar", LIMITS)) == len(found)


def test_paths_that_escape_are_only_names() -> None:
    assert members(make_zip({"../../evil.txt": b"1", "/etc/x.txt": b"2"}), "zip") == [
        Member("../../evil.txt", b"1", None),
        Member("/etc/x.txt", b"2", None),
    ]
    assert members(make_tar({"../../evil.txt": b"1"}), "tar") == [Member("../../evil.txt", b"1", None)]


def test_a_name_that_is_there_twice_is_told_apart() -> None:
    data = make_zip({"a.txt": b"1", "b.txt": b"2"}).replace(b"b.txt", b"a.txt")
    expected = [Member("a.txt", b"1", None), Member("a~2.txt", b"2", None)]
    assert members(data, "zip") == expected
    assert members(data, "zip", 1, 2) == expected[1:]


def test_links_and_folders_are_skipped() -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, kind in (("folder", tarfile.DIRTYPE), ("link", tarfile.SYMTYPE), ("device", tarfile.CHRTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    assert members(out.getvalue(), "tar") == [None, None, None]


@pytest.mark.parametrize("fmt", sorted(MAKE))
def test_limits_name_themselves(fmt: str) -> None:
    data = MAKE[fmt]({"a.txt": b"a" * 100, "b.txt": b"b" * 300, "c.txt": b"c" * 100})
    assert rule_of(data, fmt, replace(LIMITS, members=2)) == "ingest.max_members"
    found = members(data, fmt, limits=replace(LIMITS, file=299))
    assert [(member.name, member.rule) for member in found if member] == [
        ("a.txt", None),
        ("b.txt", "ingest.max_file_mb"),
        ("c.txt", None),
    ]
    assert rule_of(data, fmt, replace(LIMITS, file=400)) == "ingest.max_file_mb"


@pytest.mark.parametrize("fmt", ["zip", "7z"])
def test_a_bomb_is_refused_by_its_ratio(fmt: str) -> None:
    data = MAKE[fmt]({f"{number}.txt": bytes(5 << 20) for number in range(5)})
    assert rule_of(data, fmt) == "ingest.max_ratio"


def test_a_zip_whose_directory_is_no_list_of_files() -> None:
    data = make_zip({"a.txt": b"a"})
    end = data.rindex(b"PK\x05\x06")
    number = data[:end] + struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 65_535, 65_535, 100, 0, 0)
    assert rule_of(number, "zip", replace(LIMITS, members=1000)) == "ingest.max_members"
    length = data[:end] + struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 1, 1, (1 << 32) - 1, 0, 0)
    assert rule_of(length, "zip") == "ingest.max_members"


def test_a_tar_header_that_claims_gigabytes_for_a_name() -> None:
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 4 << 30
    assert rule_of(info.tobuf(tarfile.GNU_FORMAT) + bytes(1024), "tar") == "ingest.broken_archive"


def test_a_locked_member_does_not_lock_the_others() -> None:
    data = bytearray(make_zip({"a.txt": b"a", "b.txt": b"b"}))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    assert members(bytes(data), "zip") == [Member("a.txt", b"", "ingest.encrypted"), Member("b.txt", b"b", None)]
    out = io.BytesIO()
    with py7zr.SevenZipFile(out, "w", password="x") as archive:
        archive.writestr("a", "a.txt")
    assert rule_of(out.getvalue(), "7z") == "ingest.encrypted"


def test_a_damaged_member_does_not_take_the_others_with_it() -> None:
    data = bytearray(make_zip({"a.txt": b"abc" * 50, "b.txt": b"b"}))
    data[data.index(b"a.txt") + 6] ^= 0x55
    assert [(member.name, member.rule) for member in members(bytes(data), "zip") if member] == [
        ("a.txt", "ingest.broken_archive"),
        ("b.txt", None),
    ]


def test_a_damaged_member_of_a_7z_does_not_take_the_others_with_it() -> None:
    out = io.BytesIO()
    with py7zr.SevenZipFile(out, "w", filters=[{"id": py7zr.FILTER_COPY}]) as archive:
        for name, content in (("a.txt", b"aaaa"), ("b.txt", b"bbbb"), ("c.txt", b"cccc")):
            archive.writestr(content, name)
    data = out.getvalue().replace(b"bbbb", b"bbxb")
    assert [(member.name, member.rule) for member in members(data, "7z") if member] == [
        ("a.txt", None),
        ("b.txt", "ingest.broken_archive"),
        ("c.txt", None),
    ]


@pytest.mark.parametrize("fmt", sorted(MAKE))
def test_members_are_handed_on_one_by_one(fmt: str) -> None:
    files = FILES | {"__MACOSX/._a.txt": b"x", "大.txt": bytes(range(256)) * 10, "末.txt": b"x"}
    limits = replace(LIMITS, file=2000)
    data = MAKE[fmt](files)
    handed: list[Member | None] = []
    unpack(io.BytesIO(data), fmt, limits, Allowance.whole(1 << 20, LIMITS), handed.append)
    assert handed == members(data, fmt, limits=limits)
    assert [member and member.rule for member in handed] == [None, None, None, None, "ingest.max_file_mb", None]


@pytest.mark.parametrize("fmt", sorted(MAKE))
def test_what_the_taker_raises_is_raised(fmt: str) -> None:
    def take(_: Member | None) -> None:
        raise StoppedError("the disk is full")

    with pytest.raises(StoppedError):
        unpack(io.BytesIO(MADE[fmt]), fmt, LIMITS, Allowance.whole(1 << 20, LIMITS), take)


@pytest.mark.parametrize("fmt", sorted(MAKE))
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_damage_is_a_reason_and_no_crash(fmt: str, data: st.DataObject) -> None:
    whole = bytearray(MADE[fmt])
    for _ in range(data.draw(st.integers(1, 8))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(whole[: data.draw(st.integers(1, len(whole)))])
    try:
        for member in members(cut, fmt):
            assert member is None or member.rule is None or member.rule.startswith("ingest.")
    except DocumentError as error:
        assert error.rule.startswith("ingest.")  # noqa: PT017
