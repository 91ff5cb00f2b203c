"""Arrow schemas of everything that lexmill writes; later columns may be added, none changes its meaning."""

import pyarrow as pa

DOC_TYPES = ("judgment", "contract", "exam", "qa", "statute")
STAGES = ("ingest", "dedup", "decontaminate", "deidentify", "filter", "tokenize")  # in the order of the way

META = pa.struct(
    [
        ("case_number", pa.string()),  # as the document prints it; its serial is masked from de-identification on
        ("court", pa.string()),
        ("court_level", pa.string()),  # 最高 | 高级 | 中级 | 基层 | 专门
        ("trial_level", pa.string()),  # 一审 | 二审 | 三审 (Taiwan) | 再审 | 执行 | 其他
        ("document_kind", pa.string()),  # 判决书 | 裁定书 | 调解书 | 决定书 | 通知书 | 其他
        ("case_class", pa.string()),  # 民事 | 刑事 | 行政 | 执行 | 赔偿 | 其他
        ("cause", pa.string()),
        ("judgment_date", pa.date32()),
        ("version_date", pa.date32()),  # statutes: the date of this version
        ("jurisdiction", pa.string()),  # CN | TW | HK | MO, from the source card
        ("statute_title", pa.string()),  # statutes: the name without version and marks
        ("status", pa.string()),  # statutes: 现行有效 | 已修改 | 已废止 | 尚未施行, where the document says so
        ("exam_year", pa.int32()),  # exams: the year in which it was set, by the common calendar
        ("answer", pa.string()),  # exams: the letters of the key, such as B or ABD
    ]
)

SEGMENT = pa.struct(
    [
        ("kind", pa.string()),  # 首部, 当事人, 诉称 … 条, 款, 题干 …
        ("start", pa.int32()),  # code points, half-open
        ("end", pa.int32()),
        ("confidence", pa.float32()),
        ("path", pa.string()),  # its number: 编1/章2/条120-1/款2/项3, 条3/款1 of a contract, 题4, 问2; else empty
    ]
)

_COMMON = [
    ("doc_id", pa.string()),  # 32 hex digits of blake2b-128
    ("source", pa.string()),
    ("doc_type", pa.string()),
    ("title", pa.string()),
    ("text", pa.string()),
    ("meta", META),
    ("segments", pa.list_(SEGMENT)),
    ("family_id", pa.string()),  # doc_id of the first of its template family, from dedup on; null where it is alone
    ("family_size", pa.int32()),  # documents of the family up to this run
]

# Until de-identification a document still says where it comes from.
DOCUMENT_RAW = pa.schema([*_COMMON, ("record_id", pa.string()), ("uri", pa.string())])
DOCUMENT = pa.schema(_COMMON)
# The filter adds what it judged.
DOCUMENT_JUDGED = pa.schema(
    [
        *_COMMON,
        ("tags", pa.list_(pa.string())),
        ("quality", pa.float32()),
        ("language", pa.string()),  # zh | en | ja …: core.structure.language
        ("script", pa.string()),  # Hans | Hant | Latn …
    ]
)

ACTIONS = ("drop", "quarantine", "edit")

LEDGER = pa.schema(
    [
        ("doc_id", pa.string()),
        ("source", pa.string()),
        ("doc_type", pa.string()),
        ("stage", pa.string()),
        ("action", pa.string()),  # one of ACTIONS
        ("rule", pa.string()),
        ("twin", pa.string()),  # doc_id of the document that stays, for duplicates
        ("value", pa.float64()),  # what the rule measured (Jaccard, share, score)
        ("n_chars", pa.int64()),  # characters that left: in - out
        ("n_bytes", pa.int64()),  # UTF-8 bytes that left: in - out
        ("model", pa.string()),  # digest of the model whose score is ``value``, where there is one
        ("threshold", pa.float64()),  # what the score was held against
    ]
)

LINEAGE = pa.schema(
    [
        ("doc_id", pa.string()),
        ("source", pa.string()),
        ("uri", pa.string()),
        ("record_id", pa.string()),
        ("case_number", pa.string()),
        ("file_number", pa.int32()),  # number of the raw file in the run's plan
    ]
)

# One row a document; the row number is the row in the ingest part.
SIGNATURE = pa.schema(
    [
        ("doc_id", pa.string()),
        ("doc_type", pa.string()),
        ("exact", pa.binary(16)),  # blake2b-128 of the comparison copy
        ("case_key", pa.uint64()),  # hash of the well-formed case number; 0 = none
        ("trial", pa.int8()),  # trial level of a judgment, from 1; 0 = unknown
        ("title", pa.string()),  # of a statute, folded; of a Q&A what is asked, of an exam item its key; null for other documents
        ("version", pa.string()),  # of a dated statute: the figures above its first article; null or empty for other documents
        ("key", pa.uint64()),  # what splits the buckets: the case number where a guard looks at it; 0 = any
        ("same", pa.uint64()),  # hash of the paper of a case, the stem of an exam item, the title of a statute; 0 = none
        ("options", pa.list_(pa.uint64())),  # hashes of the options of an exam item, sorted
        ("n_chars", pa.int32()),  # of the comparison copy
        ("n_fffd", pa.int32()),
        ("n_text", pa.int32()),  # characters of the text itself
        ("date", pa.int32()),  # days since 1970-01-01; the least int32 where unknown
        ("signature", pa.binary(512)),  # 128 little-endian uint32 of datasketch's affine32 scheme
    ]
)

# One row a sequence. Its lists other than input_ids have one entry a piece, a stretch of one document; the pieces stand one after
# the other, so that position boundaries (cu_seqlens) are the running sum of doc_lens, and padding comes last.
TOKENS = pa.schema(
    [
        ("input_ids", pa.list_(pa.int32())),
        ("doc_ids", pa.list_(pa.int64())),  # low 63 bits of the doc_id
        ("doc_lens", pa.list_(pa.int32())),  # tokens that the piece takes up, end-of-text and repeated heading included
        ("doc_starts", pa.list_(pa.int32())),  # first token of the piece within its document (of those behind the heading)
        ("n_pad", pa.int32()),
        ("head_lens", pa.list_(pa.int32())),  # tokens at the piece's beginning that repeat the heading of a document that was cut
        ("char_starts", pa.list_(pa.int32())),  # code points of the document's text that the piece stands for, half-open,
        ("char_ends", pa.list_(pa.int32())),  # the repeated heading left out
        ("repeats", pa.list_(pa.int32())),  # 0 where the document is here for the first time, 1 for the second, …
        ("sources", pa.list_(pa.string())),
        ("doc_types", pa.list_(pa.string())),
    ]
)
