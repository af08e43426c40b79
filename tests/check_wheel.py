"""Run in the environment of the wheel, which has what it requires, no more."""

import importlib
import pathlib
import pkgutil

import keras_elmo

here = pathlib.Path(__file__).resolve().parent.parent
package = pathlib.Path(keras_elmo.__file__).resolve().parent
assert "site-packages" in package.parts, package


def files_of(folder):
    files = (p for p in folder.rglob("*") if p.is_file())
    names = (p.relative_to(folder) for p in files)
    return {n for n in names if "__pycache__" not in n.parts}


source, built = files_of(here / "keras_elmo"), files_of(package)
assert source == built, source ^ built

# Without optional packages, of which ONNX alone is imported by modules.
for info in pkgutil.walk_packages(keras_elmo.__path__, "keras_elmo."):
    if not info.name.startswith(("keras_elmo.__main__", "keras_elmo.onnx.")):
        importlib.import_module(info.name)
for public in (keras_elmo, keras_elmo.pretraining, keras_elmo.text):
    assert public.__all__
    for name in public.__all__:
        getattr(public, name)

embedder = keras_elmo.ElmoEmbedder.from_preset("english_mini")
vectors = embedder.embed_sentence(["A", "preset", "of", "the", "wheel", "."])
assert vectors.shape[-2:] == (6, 512) and vectors.any(), vectors

(wheel,) = here.glob("dist/*.whl")
megabytes = wheel.stat().st_size / 1e6
print(f"{wheel.name}: {len(built)} files, {megabytes:.1f} MB")
