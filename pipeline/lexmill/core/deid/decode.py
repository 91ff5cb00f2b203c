"""The inner loops of the names model, in vectors: feature hashes, sums of weights, and the best path.

What numba makes of plain loops over them is mostly checks whether arrays overlap, so the vectors are written as LLVM's own
instructions, which it turns into those of any processor.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexmill.core.kernels import cgutils, intrinsic, ir, njit, types

# A row of weights is padded so that its sum is one vector instruction; so is a column of the path.
WIDTH = 16
N_FEATURES = 22
REACH = 4
START, END = 1, 2
NO_KIND = 15
# Rows are known of so many characters at once: those of one half of the ring are made while those of the other are used.
_BLOCK = 64
_RING = 2 * _BLOCK
_LANES = 8
# The table of weights is larger than the nearest caches, so its rows are asked for so many characters ahead.
_AHEAD = 8
# The values of a path are brought back to that of no mention before they leave 32 bits.
_STRETCH = 1 << 16
CLOSED = -(1 << 28)
# The ways into a tag: from no mention and the ends of mentions into what may follow those, else from the inside or the beginning.
WAYS = 4

# Random odd multipliers, one a place, for characters and for kinds, and one offset a feature: part of the model's format.
_RANDOM = np.random.default_rng(20161001)
PLACES: NDArray[np.uint64] = _RANDOM.integers(1, 2**64, 2 * REACH + 1, dtype=np.uint64) | np.uint64(1)
KIND_PLACES: NDArray[np.uint64] = _RANDOM.integers(1, 2**64, 2 * REACH + 1, dtype=np.uint64) | np.uint64(1)
OFFSETS: NDArray[np.uint64] = _RANDOM.integers(1, 2**64, N_FEATURES, dtype=np.uint64)

# What the features are sums of: places of characters, from four before to four behind, and of kinds.
_CHARACTERS = (
    (2,), (3,), (4,), (5,), (6,), (2, 3), (3, 4), (4, 5), (5, 6), (3, 5), (1, 2, 3), (2, 3, 4), (3, 4, 5), (4, 5, 6), (5, 6, 7),
    (2, 3, 4, 5), (3, 4, 5, 6), (0, 1, 2, 3), (5, 6, 7, 8), (), (), (6, 7),
)  # fmt: skip
_KINDS = {19: (2, 3, 4, 5, 6, 7), 20: (3, 4, 5)}

_I8, _I16, _I32, _I64 = (ir.IntType(bits) for bits in (8, 16, 32, 64))


def _tags(*sources: int) -> tuple[int, ...]:
    return (*sources, *(0 for _ in range(WIDTH - len(sources))))


# The tag before each tag, by way; tags are O, then begin, inside, end of each label.
SOURCES = (
    _tags(0, 0, 2, 2, 0, 5, 5, 0, 8, 8),
    _tags(3, 3, 1, 1, 3, 4, 4, 3, 7, 7),
    _tags(6, 6, 2, 2, 6, 5, 5, 6, 8, 8),
    _tags(9, 9, 2, 2, 9, 5, 5, 9, 8, 8),
)
_FROM = np.array(SOURCES, np.int8)


@njit(cache=True, nogil=True, inline="always")
def _at(values: Any, at: int, before: int, behind: int) -> Any:
    """``values[at]``, or what stands for what lies before and behind all of them."""
    return np.uint64(before if at < 0 else behind if at >= values.shape[0] else values[at])


@njit(cache=True, nogil=True)
def hash_features(codes: Any, kinds: Any, at: int, shift: int, places: Any, kind_places: Any, offsets: Any, out: Any) -> None:
    """The rows of the features of one character, one after another: what training and tests need."""
    a, b, c, d, e, f, g, h, i = (
        _at(codes, at - 4, START, END) * places[0], _at(codes, at - 3, START, END) * places[1],
        _at(codes, at - 2, START, END) * places[2], _at(codes, at - 1, START, END) * places[3],
        _at(codes, at, START, END) * places[4],
        _at(codes, at + 1, START, END) * places[5], _at(codes, at + 2, START, END) * places[6],
        _at(codes, at + 3, START, END) * places[7], _at(codes, at + 4, START, END) * places[8],
    )  # fmt: skip
    kc, kd, ke, kf, kg, kh = (
        _at(kinds, at - 2, NO_KIND, NO_KIND) * kind_places[2], _at(kinds, at - 1, NO_KIND, NO_KIND) * kind_places[3],
        _at(kinds, at, NO_KIND, NO_KIND) * kind_places[4], _at(kinds, at + 1, NO_KIND, NO_KIND) * kind_places[5],
        _at(kinds, at + 2, NO_KIND, NO_KIND) * kind_places[6], _at(kinds, at + 3, NO_KIND, NO_KIND) * kind_places[7],
    )  # fmt: skip
    sums = (
        c, d, e, f, g, c + d, d + e, e + f, f + g, d + f, b + c + d, c + d + e, d + e + f, e + f + g, f + g + h,
        c + d + e + f, d + e + f + g, a + b + c + d, f + g + h + i, kc + kd + ke + kf + kg + kh, kd + ke + kf, g + h,
    )  # fmt: skip
    for k in range(N_FEATURES):
        out[k] = (sums[k] + offsets[k]) >> np.uint64(shift)


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any, which: int) -> Callable[[Any, Any], Any]:
    """A function that gives the address of a place of the array argument ``which``, for a value of some type."""
    data = context.make_array(signature.args[which])(context, builder, arguments[which]).data
    return lambda place, form: builder.bitcast(builder.gep(data, [place]), form.as_pointer())


def _fixed(form: Any, values: Sequence[int]) -> Any:
    return ir.Constant(ir.VectorType(form, len(values)), [form(int(value)) for value in values])


def _all(form: Any, value: int) -> Any:
    return _fixed(form, [value] * _LANES)


def _spread(builder: Any, value: Any) -> Any:
    """``value`` in every lane."""
    one = ir.Constant(ir.VectorType(value.type, _LANES), ir.Undefined)
    return builder.shuffle_vector(builder.insert_element(one, value, _I32(0)), one, _fixed(_I32, [0] * _LANES))


@intrinsic
def _hash(_: Any, codes: Any, kinds: Any, at: Any, shift: Any, rows: Any, place: Any) -> Any:
    """Where the rows of ``_LANES`` characters from ``at`` on begin, in bytes, into ``rows`` from ``place`` on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, _, at, shift, _, place = arguments
        from_codes = _pointer(context, builder, signature, arguments, 0)
        from_kinds = _pointer(context, builder, signature, arguments, 1)
        to = _pointer(context, builder, signature, arguments, 4)
        long = ir.VectorType(_I64, _LANES)

        def load(pointer: Any, form: Any, beyond: int, factor: int) -> Any:
            packed = builder.load(pointer(builder.add(at, at.type(beyond)), ir.VectorType(form, _LANES)), align=form.width // 8)
            return builder.mul(builder.zext(packed, long), _all(_I64, factor))

        characters = [load(from_codes, _I32, beyond, int(factor)) for beyond, factor in enumerate(PLACES)]
        kinds_ = {beyond: load(from_kinds, _I8, beyond, int(KIND_PLACES[beyond])) for beyond in _KINDS[19]}
        shifts = _spread(builder, shift)
        for feature, offset in enumerate(OFFSETS):
            terms = [characters[part] for part in _CHARACTERS[feature]] or [kinds_[part] for part in _KINDS[feature]]
            total = _all(_I64, int(offset))
            for term in terms:
                total = builder.add(total, term)
            row = builder.trunc(builder.lshr(total, shifts), ir.VectorType(_I32, _LANES))
            begin = builder.mul(row, _fixed(_I32, [WIDTH] * _LANES))
            builder.store(begin, to(builder.add(place, place.type(feature * _RING)), begin.type), align=4)
        return context.get_dummy_value()

    return types.void(codes, kinds, at, shift, rows, place), generate


@intrinsic
def _prefetch(_: Any, weights: Any, rows: Any, place: Any) -> Any:
    """Asks the processor for the rows of the character whose features stand in ``rows`` from ``place`` on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table = _pointer(context, builder, signature, arguments, 0)
        begin = _pointer(context, builder, signature, arguments, 1)
        byte = _I8.as_pointer()
        form = ir.FunctionType(ir.VoidType(), [byte, _I32, _I32, _I32])
        ask = builder.module.declare_intrinsic("llvm.prefetch", (byte,), form)
        for feature in range(N_FEATURES):
            place = builder.add(arguments[2], arguments[2].type(feature * _RING))
            row = builder.zext(builder.load(begin(place, _I32)), _I64)
            # For reading, into the nearest cache, of data.
            builder.call(ask, [table(row, _I8), _I32(0), _I32(3), _I32(1)])
        return context.get_dummy_value()

    return types.void(weights, rows, place), generate


@intrinsic
def _sum(_: Any, weights: Any, rows: Any, place: Any, scores: Any, at: Any) -> Any:
    """The sum of the rows of one character into ``scores`` from ``at`` on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table = _pointer(context, builder, signature, arguments, 0)
        begin = _pointer(context, builder, signature, arguments, 1)
        to = _pointer(context, builder, signature, arguments, 3)
        wide = ir.VectorType(_I16, WIDTH)
        total = None
        for feature in range(N_FEATURES):
            place = builder.add(arguments[2], arguments[2].type(feature * _RING))
            row = builder.zext(builder.load(begin(place, _I32)), _I64)
            found = builder.sext(builder.load(table(row, ir.VectorType(_I8, WIDTH)), align=1), wide)
            total = found if total is None else builder.add(total, found)
        builder.store(total, to(arguments[4], wide), align=2)
        return context.get_dummy_value()

    return types.void(weights, rows, place, scores, at), generate


@intrinsic
def _advance(_: Any, scores: Any, moves: Any, values: Any, back: Any, low: Any, high: Any) -> Any:
    """Takes the best ``values`` of all tags from character to character; which ways were taken, one bit a tag, into ``back``.

    Where two ways are as good, the first is taken.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from_scores, from_moves, state, to = (_pointer(context, builder, signature, arguments, which) for which in range(4))
        column = ir.VectorType(_I32, WIDTH)
        low, high = arguments[4:]
        costs = [builder.load(from_moves(low.type(way * WIDTH), column), align=4) for way in range(WAYS)]
        kept = cgutils.alloca_once(builder, column)
        builder.store(builder.load(state(low.type(0), column), align=4), kept)
        with cgutils.for_range_slice(builder, low, high, low.type(1)) as (at, _):
            before = builder.load(kept)
            ways = [
                builder.add(builder.shuffle_vector(before, before, _fixed(_I32, sources)), cost)
                for sources, cost in zip(SOURCES, costs, strict=True)
            ]
            best = ways[0]
            for way in range(1, WAYS):
                better = builder.icmp_signed(">", ways[way], best)
                best = builder.select(better, ways[way], best)
                place = builder.add(builder.mul(at, at.type(WAYS - 1)), at.type(way - 1))
                builder.store(builder.bitcast(better, _I16), to(place, _I16))
            score = builder.load(from_scores(builder.mul(at, at.type(WIDTH)), ir.VectorType(_I16, WIDTH)), align=2)
            builder.store(builder.add(best, builder.sext(score, column)), kept)
        builder.store(builder.load(kept), state(low.type(0), column), align=4)
        return context.get_dummy_value()

    return types.void(scores, moves, values, back, low, high), generate


@njit(cache=True, nogil=True)
def _score(codes: Any, kinds: Any, n: int, weights: Any, shift: int, scores: Any) -> None:
    """The scores of all tags (n × ``WIDTH``): sums of one row of weights a feature.

    Codes and kinds go on by four before the ``n`` characters, and behind them by a block and four, from the end of a block on.
    """
    rows = np.empty(N_FEATURES * _RING, np.uint32)
    for at in range(0, _BLOCK, _LANES):
        _hash(codes, kinds, at, shift, rows, at)
    for at in range(_AHEAD):
        _prefetch(weights, rows, at)
    for base in range(0, n, _BLOCK):
        after = base + _BLOCK
        for at in range(after, after + _BLOCK, _LANES):
            _hash(codes, kinds, at, shift, rows, at & (_RING - 1))
        for at in range(base, min(after, n)):
            _prefetch(weights, rows, (at + _AHEAD) & (_RING - 1))
            _sum(weights, rows, at & (_RING - 1), scores, at * WIDTH)


@njit(cache=True, nogil=True)
def _find_path(scores: Any, n: int, moves: Any, first: Any, tags: Any) -> None:
    """The best tags; ``moves`` are the costs of all ways, ``first`` those of the beginning."""
    back = np.empty(n * (WAYS - 1), np.uint16)
    values = np.empty(WIDTH, np.int32)
    for tag in range(WIDTH):
        values[tag] = first[tag] + (scores[tag] if first[tag] > CLOSED else 0)
    low = 1
    while low < n:
        high = min(n, low + _STRETCH)
        _advance(scores, moves, values, back, low, high)
        outside = values[0]
        for tag in range(WIDTH):
            values[tag] -= outside
        low = high
    tag = 0
    for end in (3, 6, 9):
        if values[end] > values[tag]:
            tag = end
    for at in range(n - 1, 0, -1):
        tags[at] = tag
        place = at * (WAYS - 1)
        bit = 1 << tag
        way = 0
        for other in range(1, WAYS):
            if back[place + other - 1] & bit:
                way = other
        tag = _FROM[way, tag]
    tags[0] = tag


@njit(cache=True, nogil=True)
def _mentions(scores: Any, moves: Any, tags: Any, found: Any) -> int:
    """Start, end, label and margin of each mention into ``found`` (rows of four); returns how many."""
    n = tags.shape[0]
    count = 0
    for at in range(n):
        tag = tags[at]
        if tag == 0:
            continue
        part = (tag - 1) % 3
        margin = scores[at * WIDTH + tag] - scores[at * WIDTH]
        if part == 0:
            before = 0 if at else 10
            found[count, 0] = at
            found[count, 3] = margin + moves[before, tag] - moves[before, 0]
            continue
        found[count, 3] += margin + moves[tags[at - 1], tag] - moves[0, 0]
        if part == 2:
            found[count, 1] = at + 1
            found[count, 2] = (tag - 1) // 3
            if at + 1 < n:
                found[count, 3] += moves[tag, 0] - moves[0, 0]
            count += 1
    return count


@njit(cache=True, nogil=True)
def find_mentions(raw: Any, folds: Any, weights: Any, shift: int, transitions: Any, moves: Any, first: Any) -> Any:
    """Rows of start, end, label and margin, one a mention, in code points; ``folds``: what each stands for, above it its kind."""
    n = raw.shape[0]
    padded = (n + _BLOCK - 1) // _BLOCK * _BLOCK + _BLOCK + 2 * REACH
    codes = np.empty(padded, np.uint32)
    kinds = np.empty(padded, np.uint8)
    codes[:REACH] = START
    kinds[:REACH] = NO_KIND
    codes[n + REACH :] = END
    kinds[n + REACH :] = NO_KIND
    known = folds.shape[0]
    for at in range(n):
        code = raw[at]
        packed = folds[code] if code < known else code
        codes[at + REACH] = packed & 0x1FFFFF
        kinds[at + REACH] = packed >> 24
    scores = np.empty(n * WIDTH, np.int16)
    _score(codes, kinds, n, weights, shift, scores)
    tags = np.empty(n, np.int8)
    _find_path(scores, n, moves, first, tags)
    found = np.zeros((n // 2 + 1, 4), np.int32)
    return found[: _mentions(scores, transitions, tags, found)]
