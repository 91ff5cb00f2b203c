"""Art. 4 is applied by default, and the run file can switch it off."""

import pyarrow.parquet as pq

from lexmill.jobs import decontaminate, dedup, deidentify, ingest
from tests.core.deid.test_article4 import DIVORCE
from tests.jobs.conftest import MakeJob

OTHER = "原告章若岚诉被告卞长庚买卖合同纠纷一案，本院于2016年1月7日立案受理。原告诉称：请求判令被告支付货款两万元。"


def test_the_run_file_decides(make_job: MakeJob) -> None:
    records = [{"id": "1", "text": DIVORCE}, {"id": "2", "text": OTHER}]
    kept = {}
    for name, setting in (("on", "run='main'"), ("off", "deidentify.article_4=false")):
        job = make_job(name, records, setting, doc_type="judgment")
        manifest = deidentify.run(job, decontaminate.run(job, dedup.run(job, ingest.run(job))))
        kept[name] = pq.read_table(job.workspace.stage("deidentify").part(0)).num_rows
        dropped = manifest["counts"].get("drop", {}).get("q/judgment", {})
        assert dropped.get("docs", 0) == len(records) - kept[name]
    assert kept == {"on": 1, "off": 2}
