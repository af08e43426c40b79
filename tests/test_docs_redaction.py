"""The code of docs/redaction.md, run as a reader would."""

import shutil
import subprocess

import pytest
from doc_snippets import read_blocks
from doc_snippets import run_blocks

from keras_elmo.commands.main import main

pytest.importorskip("spacy", reason="It divides text into words.")
pytestmark = pytest.mark.exhaustive
TEXT = "Dear Maria Lopez,\n\n  I met Peter Lind in Ohio. \U0001f44d  Bye!\nx"
REDACTED = "Dear [PER],\n\n  I met [PER] in [LOC]. \U0001f44d  Bye!\nx"


def test_the_code(capsys):
    redact = run_blocks(read_blocks("docs/redaction.md"))["redact"]
    shown = "[PER] moved to [LOC].\nDid she know [PER]?\n"
    assert capsys.readouterr().out == shown
    assert redact(TEXT, 0.3) == REDACTED
    assert redact("") == "" and redact(" \n") == " \n"


@pytest.mark.skipif(not shutil.which("jq"), reason="needs jq")
def test_the_pipeline(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "letter.txt").write_bytes(TEXT.encode())
    (code,) = read_blocks("docs/redaction.md", "sh")
    _, tag, replace = code.split("\n", 2)
    assert main(tag.replace("0.1", "0.3").split()[1:]) == 0
    subprocess.run(replace, shell=True, check=True)
    assert (tmp_path / "redacted.txt").read_bytes().decode() == REDACTED
