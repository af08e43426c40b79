"""docs/gallery.md: its ids are ELMo's, and so is what the page shows."""

import functools
import http.server
import json
import queue
import shutil
import subprocess
import threading

import numpy as np
import pytest
from conftest import ROOT

import keras_elmo

SITE = ROOT / "docs/_build/html"
# The first two are those that the page begins with.
SENTENCES = [
    ["They", "walked", "along", "the", "bank", "of", "the", "river", "."],
    ["He", "opened", "an", "account", "at", "the", "bank", "."],
    ["They", "do", "n't", "see", "the", "café", "🙂", "at", "x³", "."],
]
NAMES = ["Maria", "Lopez", "moved", "from", "Ohio", "to", "Spain", "."]
FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --disable-sync
--disable-background-networking --disable-component-update --no-first-run"""
# Added to the page: loads the models, types a sentence, sends what is shown.
SCRIPT = """<script type="module">
const find = (id) => document.getElementById(id);
const texts = (selector) =>
  Array.from(document.querySelectorAll(selector), (x) => x.textContent);
const until = async (isDone) => {
  while (!isDone()) await new Promise((resolve) => setTimeout(resolve, 50));
};
find("elmo-load").click();
await until(() => !find("elmo").hidden || !find("elmo-load").disabled);
const shown = { status: find("elmo-status").textContent };
if (!find("elmo").hidden) {
  find("elmo-text").value = WORDS.join(" ");
  find("elmo-text").dispatchEvent(new Event("input"));
  await until(() => texts("#elmo-tags ruby").length == WORDS.length);
  const { embed, findNames } = await import("./_static/browser.mjs");
  const layers = await embed(WORDS);
  shown.layers = layers.map((vectors) => vectors.map((x) => [...x]));
  shown.tags = texts("#elmo-tags rt");
  shown.names = await findNames(NAMES);
  shown.cosines = texts("[data-layer]").map(Number);
}
const body = JSON.stringify(shown);
await fetch("URL", { method: "POST", mode: "no-cors", body });
</script>"""


def test_ids_and_words():
    node = shutil.which("node") or pytest.skip("needs Node.js")
    words = ["cat", "", "é", "e\u0301", "日本語" * 9, "x" * 60, "🙂👍🏽"]
    words += ["<S>", "</S>", "<s>", "constructor", "\0", "\ud800a", "é" * 25]
    split = "I do n't say it 's 3.5 % ( well-known ) , e.g . “ cafe\u0301 ❤️ ” …"
    text = "I don't say it's 3.5% (well-known), e.g. “cafe\u0301❤️”…"
    code = f"""
    import {{ sentenceIds, splitWords }} from "{ROOT}/docs/_static/elmo.mjs";
    const [words, text] = {json.dumps([words, text])};
    console.log(JSON.stringify([[...sentenceIds(words)], splitWords(text)]));
    """
    command = [node, "--input-type=module", "-e", code]
    ids, found = json.loads(subprocess.check_output(command))
    np.testing.assert_array_equal(ids, keras_elmo.batch_to_ids([words]).ravel())
    assert found == split.split()


class Site(http.server.SimpleHTTPRequestHandler):
    def do_POST(self):
        size = int(self.headers["Content-Length"])
        self.server.posted.put(json.loads(self.rfile.read(size)))


def open_page(folder, is_served):
    """Returns what the page shows in Chromium."""
    chromium = shutil.which("chromium") or pytest.skip("needs Chromium")
    if not (SITE / "_static/browser/tagger.onnx").exists():
        pytest.skip("needs the page, built by `make docs` with npm")
    (folder / "_static").symlink_to(SITE / "_static")
    handler = functools.partial(Site, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.posted = queue.Queue()
        threading.Thread(target=server.serve_forever).start()
        url = f"http://127.0.0.1:{server.server_port}"
        script = SCRIPT.replace("WORDS", json.dumps(SENTENCES[2]))
        script = script.replace("NAMES", json.dumps(NAMES))
        page = (SITE / "gallery.html").read_text("utf-8")
        page += script.replace("URL", url)
        (folder / "gallery.html").write_text(page, "utf-8")
        page = f"{url if is_served else folder.as_uri()}/gallery.html"
        flags = [*FLAGS.split(), f"--user-data-dir={folder}/profile"]
        with subprocess.Popen([chromium, *flags, page]) as process:
            try:
                return server.posted.get(timeout=120)
            finally:
                process.terminate()
                server.shutdown()


def test_page(tmp_path):
    shown = open_page(tmp_path, is_served=True)
    assert shown["status"] == ""
    embedder = keras_elmo.ElmoEmbedder.from_preset("english_mini", layers="all")
    *others, expected = embedder.embed_sentences(SENTENCES)
    for layer, x in zip(shown["layers"], expected, strict=True):
        x = x[:, : len(layer[0])]  # Layer 0 is not doubled.
        assert np.linalg.norm(layer - x) < 0.02 * np.linalg.norm(x)
    banks = [x[:, s.index("bank")] for x, s in zip(others, SENTENCES)]
    a, b = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in banks)
    np.testing.assert_allclose(shown["cosines"], (a * b).sum(1), atol=0.02)
    tagger = keras_elmo.Tagger.load("english_pos")
    assert [shown["tags"]] == tagger.predict([SENTENCES[2]])
    (names,) = keras_elmo.Tagger.load("english_names").predict_entities([NAMES])
    keys = "start_word", "end_word", "type"
    found = [[x[key] for key in keys] for x in shown["names"]]
    assert found == [[*x[:3]] for x in names]
    shares = [x["probability"] for x in shown["names"]]
    np.testing.assert_allclose(shares, [x[3] for x in names], atol=0.05)


def test_page_without_a_server(tmp_path):
    shown = open_page(tmp_path, is_served=False)
    assert "python -m http.server" in shown["status"]
