"""Run in the wheel's environment: checks that the built package is used."""

import pathlib

import keras_elmo

here = pathlib.Path(__file__).resolve().parent.parent
package = pathlib.Path(keras_elmo.__file__).resolve().parent
assert "site-packages" in package.parts, package
source = {
    p.relative_to(here / "keras_elmo") for p in here.glob("keras_elmo/**/*.py")
}
built = {p.relative_to(package) for p in package.glob("**/*.py")}
assert source == built, source ^ built
assert (package / "py.typed").is_file()  # Type checkers need it.
(wheel,) = here.glob("dist/*.whl")
print(
    f"{wheel.name}: {len(built)} modules, {wheel.stat().st_size / 1e6:.1f} MB"
)
