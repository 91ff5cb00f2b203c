"""The figures that standards ask for, each with how it is made and the file of the evidence that it stands in."""

from collections.abc import Mapping
from typing import Any

from lexmill.core.evidence.tables import deidentification, people, sampling, sources, takedowns

SOURCES, SAMPLING, DEID, PEOPLE, TAKEDOWNS = (
    f"evidence/{name}.json" for name in ("sources", "sampling", "deidentification", "people", "takedowns")
)
MANIFEST = "manifest.json"

# name → (the file that it stands in, how it is made)
DESCRIBED: Mapping[str, tuple[str, str]] = {
    "release.documents": (MANIFEST, "documents：text/ 各文件的行数之和"),
    "release.text_bytes": (MANIFEST, "text[].bytes 之和：压缩后的 Parquet 文件"),
    "sources.judgments": (SOURCES, "过滤后保留的裁判文书份数"),
    "sources.open": (SOURCES, "origin = open 的来源数"),
    "sources.self_collected": (SOURCES, "origin = self-collected 的来源数"),
    "sources.commercial": (SOURCES, "origin = commercial 的来源数"),
    "sources.user": (SOURCES, "origin = user 的来源数"),
    "sources.open_with_licence": (SOURCES, "开源来源中来源卡写有 licence 的比例"),
    "sources.self_collected_dated": (SOURCES, "自采来源中来源卡写有 collected 的比例"),
    "sources.commercial_with_contract": (SOURCES, "商业来源中来源卡写有 contract 的比例"),
    "sources.user_with_consent": (SOURCES, "使用者来源中来源卡写有 consent 的比例"),
    "sources.legal_basis_stated": (SOURCES, "来源卡写有 legal_basis 的来源比例"),
    "sources.rights_stated": (SOURCES, "来源卡写有 rights 的来源比例"),
    "sources.foreign_share": (SOURCES, "foreign = true 的来源的词元占全部词元的比例"),
    "sources.foreign_open_share": (SOURCES, "foreign = true 且 origin = open 的来源的词元占全部词元的比例"),
    "sources.generated_share": (SOURCES, "来源卡 generated_by 写明模型的来源的词元占全部词元的比例"),
    "screen.documents": (SAMPLING, "受至少一个筛查（词表或模型）检查的文档数，过滤阶段的输入"),
    "screen.coverage": (SAMPLING, "受筛查的文档占过滤阶段输入的比例"),
    "screen.flagged": (SAMPLING, "被至少一个筛查命中的文档数；命中不等于违法"),
    "screen.pass_rate": (SAMPLING, "1 −（命中的文档 ÷ 受筛查的文档）"),
    "screen.worst_source_share": (SOURCES, "各来源中命中比例的最大值"),
    "review.sample": (SAMPLING, "人工审读的随机核心样本份数，各批之和；有一批未审即为未测"),
    "review.pass_rate": (SAMPLING, "1 −（有任何缺陷的份数 ÷ 审读份数）"),
    "review.defect_bound": (SAMPLING, "缺陷率的单侧 Clopper–Pearson 上限，各批最大值"),
    "review.identifier_bound": (SAMPLING, "直接标识残留率的单侧 Clopper–Pearson 上限，各批最大值"),
    "review.planted_recall": (SAMPLING, "埋设缺陷被审读者检出的比例"),
    "deid.enabled": (DEID, "1：全部批次都经过去标识化；0：至少一批没有"),
    "deid.claims_anonymised": (DEID, "本发布是否主张匿名化：程序从不主张，恒为 0"),
    "deid.masked": (DEID, "遮盖的处数，各类之和"),
    "deid.documents": (DEID, "正文有遮盖的文档数"),
    "deid.quarantined": (DEID, "无法遮盖或遮盖后仍有残留而隔离的文档数"),
    "deid.sensitive_documents": (DEID, "含敏感个人信息线索的文档数，按类相加（一份可属几类）"),
    "deid.article_4": (DEID, "1：按 rules/deid/article4.toml 剔除不应公布的裁判文书"),
    "deid.article_4_dropped": (DEID, "按 art4.* 规则剔除的文档数"),
    "deid.keeps_roles": (DEID, "策略保留姓名的角色数"),
    "residual.documents": (DEID, "发布前解码扫描的文档数（每种窗口长度各算一次）"),
    "residual.found": (DEID, "扫描发现的有效号码数；不为 0 则不发布"),
    "people.in_documents": (PEOPLE, "被遮盖的自然人，按文档计（一人在两份文档算两人）"),
    "people.names_low": (PEOPLE, "不同姓名数的估计，各批最大值"),
    "people.names_high": (PEOPLE, "不同姓名数的估计，各批之和"),
    "takedown.tombstones": (TAKEDOWNS, "已撤回文档的墓碑数"),
    "takedown.removed": (TAKEDOWNS, "因撤回离开本发布各批的文档数"),
}
# Figures for every kind of entity, and every role, that a policy may mask.
_MASKS = {
    "deid.masks.": (DEID, "1：策略遮盖这一类"),
    "deid.masks_role.": (DEID, "1：策略遮盖这一角色的姓名"),
}


def is_figure(name: str) -> bool:
    """Whether there is a figure of this name."""
    return name in DESCRIBED or any(name.startswith(prefix) and name != prefix for prefix in _MASKS)


def described(name: str) -> tuple[str, str]:
    """The file that a figure stands in, and how it is made; raises KeyError where there is none."""
    if name in DESCRIBED:
        return DESCRIBED[name]
    return next(said for prefix, said in _MASKS.items() if name.startswith(prefix))


def figures(body: Mapping[str, Any], tombstones: Mapping[str, int]) -> dict[str, float | None]:
    """Every figure of a release by name, from its manifest's body and the tombstones of its workspace; None: not measured."""
    given, sampled, masked = sources(body), sampling(body), deidentification(body)
    persons, taken = people(body), takedowns(body, tombstones)
    technical, manual = sampled["technical"], sampled["manual"]
    by_origin = {origin: [row for row in given if row["origin"] == origin] for origin in _ORIGINS}
    tokens = sum(row["tokens"] for row in given)
    policies = masked["policies"]
    found: dict[str, float | None] = {
        "release.documents": body["documents"],
        "release.text_bytes": sum(entry["bytes"] for entry in body["text"]),
        "sources.judgments": sum(row["documents_by_type"].get("judgment", 0) for row in given),
        **{f"sources.{_ORIGINS[origin]}": len(rows) for origin, rows in by_origin.items()},
        "sources.open_with_licence": _share(by_origin["open"], "licence"),
        "sources.self_collected_dated": _share(by_origin["self-collected"], "collected"),
        "sources.commercial_with_contract": _share(by_origin["commercial"], "contract"),
        "sources.user_with_consent": _share(by_origin["user"], "consent"),
        "sources.legal_basis_stated": _share(given, "legal_basis"),
        "sources.rights_stated": _share(given, "rights"),
        "sources.foreign_share": _ratio(sum(row["tokens"] for row in given if row["foreign"]), tokens),
        "sources.foreign_open_share": _ratio(
            sum(row["tokens"] for row in given if row["foreign"] and row["origin"] == "open"), tokens
        ),
        "sources.generated_share": _ratio(sum(row["tokens"] for row in given if row["is_generated"]), tokens),
        "screen.documents": technical["documents"],
        "screen.coverage": technical["coverage"],
        "screen.flagged": technical["flagged"],
        "screen.pass_rate": technical["pass_rate"],
        "screen.worst_source_share": max(
            (row["flagged_share"] for row in given if row["flagged_share"] is not None), default=None
        ),
        "review.sample": manual["sample"],
        "review.pass_rate": manual["pass_rate"],
        "review.defect_bound": manual["defect_bound"],
        "review.identifier_bound": manual["identifier_bound"],
        "review.planted_recall": manual["planted_recall"],
        "deid.enabled": int(masked["enabled"]),
        "deid.claims_anonymised": 0,
        "deid.masked": sum(masked["masked"].values()),
        "deid.documents": masked["documents_masked"],
        "deid.quarantined": sum(masked["quarantined"].values()),
        "deid.sensitive_documents": sum(masked["sensitive_documents"].values()),
        "deid.article_4": int(bool(policies) and all(policy["article_4"] for policy in policies)),
        "deid.article_4_dropped": sum(masked["article_4_dropped"].values()),
        "deid.keeps_roles": max((len(policy["keep_roles"]) for policy in policies), default=None),
        "residual.documents": None if masked["residual"] is None else masked["residual"]["documents"],
        "residual.found": None if masked["residual"] is None else masked["residual"]["found"],
        "people.in_documents": persons["before"]["in_documents"],
        "people.names_low": persons["before"]["names_low"],
        "people.names_high": persons["before"]["names_high"],
        "takedown.tombstones": sum(taken["tombstones"].values()),
        "takedown.removed": taken["removed"].get("takedown", 0),
    }
    for prefix, yes, no in (("deid.masks.", "mask", "keep"), ("deid.masks_role.", "mask_roles", "keep_roles")):
        for name in sorted({name for policy in policies for name in (*policy[yes], *policy[no])}):
            found[prefix + name] = int(masked["enabled"] and all(name in policy[yes] for policy in policies))
    return found


_ORIGINS = {"open": "open", "self-collected": "self_collected", "commercial": "commercial", "user": "user"}


def _ratio(part: float, whole: float) -> float | None:
    return round(part / whole, 6) if whole else None


def _share(rows: list[dict[str, Any]], key: str) -> float | None:
    return _ratio(sum(bool(row[key]) for row in rows), len(rows))
