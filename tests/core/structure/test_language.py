import pyarrow as pa
import pytest

from lexmill.core.structure.language import LANGUAGES, SCRIPTS, identify

KNOWN = [
    ("本院认为，被告人的行为已构成盗窃罪。", "zh", "Hans"),
    ("本院認為，被告之行為已構成竊盜罪。", "zh", "Hant"),
    ("依法院判例“被告應負擔訴訟費用”一语，本院认为原告的诉讼请求应当得到支持，判决如下。", "zh", "Hans"),
    ("上下左右", "zh", "Hans"),
    ("被告がソフトウェアを複製した行為は著作権の侵害にあたる。", "ja", "Jpan"),
    ("被告销售的ソニー牌相机侵犯了原告的商标权，应当停止侵害并赔偿损失。", "zh", "Hans"),
    ("피고는 원고에게 손해를 배상하여야 한다.", "ko", "Hang"),
    ("The court of first instance held that the defendant was liable to the plaintiff.", "en", "Latn"),
    ("Das Gericht erster Instanz hat die Klage abgewiesen.", "und", "Latn"),
    ("甲方（Party A）应当向乙方（Party B）支付价款。Party A shall pay the price.", "zh", "Hans"),
    ("سوت ھۆكۈمى", "ug", "Arab"),
    ("ཁྲིམས་ཁང་གི་ཐག་གཅོད།", "bo", "Tibt"),
    ("ᠮᠣᠩᠭᠣᠯ ᠬᠠᠤᠯᠢ", "mn", "Mong"),
    ("Суд первой инстанции", "und", "Cyrl"),
    ("123 ____ ！", "und", "Zyyy"),
    ("", "und", "Zyyy"),
]


@pytest.mark.parametrize(("text", "language", "script"), KNOWN)
def test_known_texts(text: str, language: str, script: str) -> None:
    assert identify(pa.array([text])) == [(language, script)]


def test_every_language_and_script_is_known_somewhere_and_neighbours_do_not_matter() -> None:
    assert {language for _, language, _ in KNOWN} == set(LANGUAGES)
    assert {script for _, _, script in KNOWN} == set(SCRIPTS)
    assert identify(pa.array([text for text, _, _ in KNOWN])) == [(language, script) for _, language, script in KNOWN]
