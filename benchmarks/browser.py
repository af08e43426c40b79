"""Times the model of docs/gallery.md in Chromium.

    python benchmarks/browser.py --output browser.json

Needs Chromium, and npm for onnxruntime-web. The page runs the 8-bit
`english_mini` in WebAssembly, with one thread: first `--untimed` runs, until
the browser has optimised the code, then `--runs` runs. The seconds of all are
written, and the size of all files that docs/gallery.md loads.
"""

import functools
import http.server
import json
import pathlib
import queue
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading

from program import begin_results
from program import make_parser
from program import write_results

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
SENTENCE = "They walked along the bank of the river ."
FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --disable-sync
--disable-background-networking --disable-component-update --no-first-run"""
PAGE = """<script type="module">
import * as ort from "./browser/ort.wasm.bundle.min.mjs";
import { sentenceIds } from "./elmo.mjs";
ort.env.wasm.numThreads = 1;
let body;
try {
  const url = new URL("browser/elmo.onnx", location).href;
  const session = await ort.InferenceSession.create(url);
  const words = WORDS;
  const shape = [1, words.length, 50];
  const seconds = [];
  for (let i = 0; i < COUNT; i++) {
    const start = performance.now();
    const ids = new ort.Tensor("int32", sentenceIds(words), shape);
    await session.run({ ids });
    seconds.push((performance.now() - start) / 1000);
  }
  body = { seconds };
} catch (error) {
  body = { error: String(error) };
}
await fetch("", { method: "POST", body: JSON.stringify(body) });
</script>"""
LIMIT = 300  # Seconds until Chromium must have answered.


def main():
    parser = make_parser(__doc__)
    add = parser.add_argument
    add("--runs", type=int, default=60)
    add("--untimed", type=int, default=20)
    add("--chromium", default="chromium", help="path of Chromium")
    add("--output", required=True, help="JSON file to write")
    arguments = parser.parse_args()
    chromium = shutil.which(arguments.chromium)
    if chromium is None:
        parser.error(f"there is no Chromium: '{arguments.chromium}'")
    sys.path.insert(0, str(DOCS))
    import build_browser

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        missing = build_browser.build(folder / "browser", DOCS / "_build")
        if missing:
            sys.exit(missing)
        shutil.copy(DOCS / "_static/elmo.mjs", folder)
        page = PAGE.replace("WORDS", json.dumps(SENTENCE.split()))
        count = arguments.untimed + arguments.runs
        page = page.replace("COUNT", str(count))
        (folder / "index.html").write_text(page, "utf-8")
        sizes = {
            path.name: path.stat().st_size / 1e6
            for path in sorted((folder / "browser").iterdir())
        }
        seconds = ask(chromium, folder)
    version = subprocess.check_output(
        [chromium, "--version"], stderr=subprocess.DEVNULL, text=True
    )
    results = begin_results(
        browser=version.strip(),
        words=len(SENTENCE.split()),
        megabytes=sizes,
        untimed=seconds[: arguments.untimed],
        seconds=seconds[arguments.untimed :],
    )
    write_results(arguments.output, results)
    median = statistics.median(results["seconds"])
    print(f"{1000 * median:.1f} ms, median of {arguments.runs} runs")


class Server(http.server.SimpleHTTPRequestHandler):
    def do_POST(self):
        size = int(self.headers["Content-Length"])
        self.server.posted.put(json.loads(self.rfile.read(size)))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def ask(chromium, folder):
    """Returns the seconds of all runs of the page in a folder."""
    handler = functools.partial(Server, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.posted = queue.Queue()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        flags = [*FLAGS.split(), f"--user-data-dir={folder}/profile"]
        url = f"http://127.0.0.1:{server.server_port}/index.html"
        command = [chromium, *flags, url]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            try:
                answer = server.posted.get(timeout=LIMIT)
            finally:
                process.terminate()
                server.shutdown()
    if "error" in answer:
        sys.exit(answer["error"])
    return answer["seconds"]


if __name__ == "__main__":
    main()
