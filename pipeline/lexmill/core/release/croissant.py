"""Croissant metadata (MLCommons, 1.0) of a release: its files with their digests, and the fields of shards and text."""

from collections.abc import Mapping
from typing import Any

from lexmill.core.release.body import UNPACKED

# The context of the specification, inline: nothing is fetched to read the file.
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_PARQUET = "application/x-parquet"
_TEXT_FIELDS = ("doc_id", "source", "doc_type", "title", "text")
_SHARD_LISTS = ("input_ids", "doc_ids", "doc_lens", "doc_starts")


def metadata(body: Mapping[str, Any], date: str) -> dict[str, Any]:
    """The metadata of a release published on ``date`` (ISO 8601); ``license`` lists those of all sources."""
    cards = body["sources"]
    licences = sorted({card["licence"] or card["contract"] for card in cards.values()})
    files = [*body["shards"], *body["text"]]
    folders = [str(window["seq_len"] or UNPACKED) for window in body["windows"]]
    sets = {f"tokens-{name}": f"tokens/{name}/*.parquet" for name in folders} | {"text": "text/*.parquet"}
    policy = body["policy"]
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"],
        "name": f"lexmill-{body['release']}",
        "description": (
            "Chinese legal text, "
            + (f"de-identified by policy {policy} (not anonymised)" if policy else "not de-identified")
            + ", deduplicated, filtered and tokenised for language-model pretraining."
        ),
        "version": "1.0.0",
        "datePublished": date,
        "inLanguage": "zh",
        "license": licences,
        "url": f"urn:lexmill:release:{body['release']}",
        "citeAs": f"lexmill release {body['release']}, {date}",
        "rai:dataCollection": "; ".join(
            f"{name}: {card['origin']}, collected {card['collected']}, {card['legal_basis']}"
            for name, card in sorted(cards.items())
        ),
        "rai:dataPreprocessingProtocol": ["ingest", "dedup", "deidentify", "filter", "tokenize"],
        "rai:personalSensitiveInformation": (
            f"Direct identifiers are masked automatically by policy {policy}; some may remain." if policy else "Not masked."
        ),
        "rai:dataLimitations": "Old judgments cite law that was in force then. Masking is automatic and not complete.",
        "rai:dataReleaseMaintenancePlan": "Withdrawals make a new release and delete the data of this one.",
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": entry["path"],
                "name": entry["path"],
                "contentUrl": entry["path"],
                "contentSize": f"{entry['bytes']} B",
                "encodingFormat": _PARQUET,
                "sha256": entry["sha256"],
            }
            for entry in files
        ]
        + [
            {"@type": "cr:FileSet", "@id": name, "name": name, "encodingFormat": _PARQUET, "includes": pattern}
            for name, pattern in sets.items()
        ],
        "recordSet": [
            *(_records(name, ("n_pad",), _SHARD_LISTS) for name in sets if name != "text"),
            _records("text", _TEXT_FIELDS, ()),
        ],
    }


def _records(file_set: str, plain: tuple[str, ...], lists: tuple[str, ...]) -> dict[str, Any]:
    name = f"{file_set}-records"
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{name}/{column}",
                "name": column,
                "dataType": "sc:Integer" if file_set != "text" else "sc:Text",
                **({"repeated": True} if column in lists else {}),
                "source": {"fileSet": {"@id": file_set}, "extract": {"column": column}},
            }
            for column in (*plain, *lists)
        ],
    }
