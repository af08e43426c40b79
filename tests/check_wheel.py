"""Run in the environment of the wheel, which must have all files, no more."""

import pathlib

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
(wheel,) = here.glob("dist/*.whl")
megabytes = wheel.stat().st_size / 1e6
print(f"{wheel.name}: {len(built)} files, {megabytes:.1f} MB")
