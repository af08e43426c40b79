import brute_force_crf as brute_force
import keras
import numpy as np
import pytest
from backend_gradients import input_gradient
from backend_gradients import weight_gradients
from comparisons import assert_close
from comparisons import assert_equal
from keras import ops
from keras.ops import convert_to_numpy as as_numpy

from keras_elmo import CRF
from keras_elmo import CRFLoss
from keras_elmo.crf.tags import allowed_tags

BIO = ["O", "B-X", "I-X", "B-Y", "I-Y"]
BIOES = ["O"] + [f"{letter}-{kind}" for kind in "XY" for letter in "BIES"]


def layer_of(chain, **kwargs):
    num_tags = len(chain.start)
    layer = CRF(num_tags, **kwargs)
    layer.build((None, None, num_tags))
    layer.set_weights([chain.transitions, chain.start, chain.end])
    return layer


@pytest.mark.parametrize("num_tags", [1, 2, 4])
def test_methods_equal_the_sum_over_all_sequences(num_tags):
    chain = brute_force.random_chain(brute_force.MASK, num_tags)
    layer = layer_of(chain)
    likelihood = as_numpy(
        layer.log_likelihood(chain.potentials, chain.tags, chain.mask)
    )
    assert likelihood.shape == (7,) and likelihood.dtype == "float32"
    assert_close(likelihood, brute_force.log_likelihood(chain), atol=1e-5)
    assert likelihood[-1] == 0
    tags = as_numpy(layer.decode(chain.potentials, chain.mask))
    assert tags.shape == (7, 4) and tags.dtype == "int32"
    assert_equal(tags, brute_force.best_tags(chain))
    marginals = as_numpy(layer.marginals(chain.potentials, chain.mask))
    assert marginals.shape == (7, 4, num_tags) and marginals.dtype == "float32"
    assert_close(marginals, brute_force.expected_counts(chain)[0])


def test_gradients():
    chain = brute_force.random_chain(brute_force.MASK, 3)
    layer = layer_of(chain)

    class Likelihood(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.crf = layer
            self.built = True

        def call(self, potentials):
            return ops.sum(
                self.crf.log_likelihood(potentials, chain.tags, chain.mask)
            )

    own = input_gradient(Likelihood(), chain.potentials)
    assert np.all(own[~chain.mask] == 0)
    potentials = ops.convert_to_tensor(chain.potentials)
    _, found = weight_gradients(Likelihood(), lambda x: x, potentials)
    found = {path.split("/")[-1]: gradient for path, gradient in found.items()}
    names = ("transitions", "start_transitions", "end_transitions")
    gradients = [own, *(found[name] for name in names)]
    there = brute_force.expected_counts(chain, chain.tags)
    expected = brute_force.expected_counts(chain)
    for gradient, a, b in zip(gradients, there, expected, strict=True):
        assert_close(gradient, a - b, rtol=1e-4, atol=1e-5)


def test_minus_infinity_forbids_a_tag():
    chain = brute_force.random_chain(brute_force.MASK, 3)
    # Forbids only what `chain.tags` does not need; at one token, all of it.
    needed = np.eye(3, dtype=bool)[chain.tags]
    chain.potentials[:2, 1][~needed[:2, 1]] = -np.inf
    chain.potentials[0, 2, np.argmin(needed[0, 2])] = -np.inf
    pairs = set(zip(chain.tags[:, :-1].flat, chain.tags[:, 1:].flat))
    unused = next(
        (i, j) for i in range(3) for j in range(3) if (i, j) not in pairs
    )
    chain.transitions[unused] = -np.inf
    layer = layer_of(chain)
    arguments = (chain.potentials, chain.mask)
    assert_close(
        layer.log_likelihood(chain.potentials, chain.tags, chain.mask),
        brute_force.log_likelihood(chain),
        atol=1e-5,
    )
    expected = brute_force.expected_counts(chain)[0]
    marginals = as_numpy(layer.marginals(*arguments))
    assert_close(marginals, expected)
    best = as_numpy(layer.decode(*arguments))
    forbidden = np.isneginf(chain.potentials)
    assert not np.any(forbidden & np.eye(3, dtype=bool)[best])
    gradient = input_gradient(
        lambda x: ops.sum(layer.log_likelihood(x, chain.tags, chain.mask)),
        chain.potentials,
    )
    there = brute_force.expected_counts(chain, chain.tags)[0]
    there = np.where(forbidden, 0, there - expected)
    assert_close(gradient, there, rtol=1e-4, atol=1e-5)


def test_tags_are_not_likely_because_all_others_are_impossible_too():
    layer = CRF(3, tag_names=["O", "B-X", "I-X"], scheme="BIO")
    potentials = np.zeros((2, 2, 3), "float32")
    potentials[1, 0, :2] = -np.inf  # Only I-X, which must not come first.
    tags = np.array([[1, 2], [2, 2]])
    with pytest.raises(ValueError, match="probability zero"):
        layer.log_likelihood(potentials, tags)


def test_the_mask_of_the_inputs_counts_and_goes_no_further():
    chain = brute_force.random_chain(brute_force.MASK, 3)
    layer = layer_of(chain)
    potentials = np.where(chain.mask[..., None], chain.potentials, 0)
    masked = keras.layers.Masking()(potentials)
    given = layer(potentials, mask=chain.mask)
    assert_equal(layer(masked), given)
    assert getattr(layer(masked), "_keras_mask", None) is None
    assert_equal(as_numpy(given)[:, :, -1, 0], chain.mask)
    # An explicit mask takes precedence; it may be numeric.
    everything = layer(masked, mask=np.ones((7, 4), "int32"))
    assert_equal(everything, layer(potentials))


@pytest.mark.parametrize(("names", "scheme"), [(BIO, "BIO"), (BIOES, "BIOES")])
@pytest.mark.parametrize("scale", [1.0, 1e4, 1e20])
def test_what_a_scheme_forbids_is_never_decoded(names, scheme, scale):
    generator = np.random.default_rng(0)
    size = len(names)
    mask = np.arange(8) < np.array([8] * 20 + [1] * 4 + [2] * 4)[:, None]
    potentials = generator.normal(0, scale, (28, 8, size)).astype("float32")
    # Adversarial: they strongly favour tags that must not begin a span.
    potentials[:, :, np.char.startswith(names, "I")] += 9 * scale
    layer = CRF(
        size,
        tag_names=names,
        scheme=scheme,
        transitions_initializer=keras.initializers.RandomNormal(0, scale),
        boundary_initializer=keras.initializers.RandomNormal(0, scale),
    )
    allowed = allowed_tags(names, scheme)
    for row, real in zip(as_numpy(layer.decode(potentials, mask)), mask):
        tags = row[real]
        assert allowed.start[tags[0]] and allowed.end[tags[-1]]
        assert np.all(allowed.transitions[tags[:-1], tags[1:]])
        assert np.all(row[~real] == 0)
    marginals = as_numpy(layer.marginals(potentials, mask))
    assert_close(marginals.sum(axis=-1), mask, rtol=0, atol=1e-5)
    assert np.all(marginals[:, 0, ~allowed.start] == 0)
    assert np.all(marginals[20:24, 0, ~allowed.end] == 0)
    likelihood = as_numpy(
        layer.log_likelihood(potentials, layer.decode(potentials, mask), mask)
    )
    # The most likely sequence: near zero, up to the rounding of such scores.
    assert np.all(np.isfinite(likelihood)) and np.all(likelihood < scale * 1e-5)


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_half_precision_sums_in_float32(policy):
    chain = brute_force.random_chain(brute_force.MASK, 3)
    half = keras.DTypePolicy(policy).compute_dtype
    potentials = ops.cast(chain.potentials, half)
    wide = as_numpy(ops.cast(potentials, "float32"))
    layer, exact = layer_of(chain, dtype=policy), layer_of(chain)
    assert_equal(
        layer(potentials, mask=chain.mask), exact(wide, mask=chain.mask)
    )
    # Potentials in float32 are not rounded either.
    assert_equal(
        layer(chain.potentials, mask=chain.mask),
        exact(chain.potentials, mask=chain.mask),
    )
    assert keras.backend.standardize_dtype(layer(potentials).dtype) == "float32"


def test_float64_is_not_narrowed():
    potentials = keras.KerasTensor((None, None, 2))
    scores = CRF(2, dtype="float64").compute_output_spec(potentials)
    assert scores.dtype == "float64"
    assert CRFLoss(dtype="float64").dtype == "float64"
    assert CRFLoss().dtype == "float32"


def test_weights_and_what_is_asked_of_them():
    layer = CRF(
        3,
        transitions_initializer="ones",
        boundary_initializer="zeros",
        transitions_regularizer=keras.regularizers.L2(0.1),
    )
    layer(np.zeros((1, 2, 3), "float32"))
    assert [(w.name, w.shape) for w in layer.weights] == [
        ("transitions", (3, 3)),
        ("start_transitions", (3,)),
        ("end_transitions", (3,)),
    ]
    losses = [float(as_numpy(loss)) for loss in layer.losses]
    assert losses == pytest.approx([0.9])
    copy = CRF.from_config(layer.get_config())
    copy.build((None, None, 3))
    assert copy.transitions.regularizer is not None
    assert_equal(copy.transitions, np.ones((3, 3)))


def test_each_boundary_draws_its_own_values():
    layer = CRF(3, boundary_initializer="random_normal")
    layer.build((None, None, 3))
    start, end = map(
        ops.convert_to_numpy, (layer.start_transitions, layer.end_transitions)
    )
    assert np.all(start != end)


def test_bad_arguments_are_named():
    for bad in (0, 2.0, None):
        with pytest.raises(ValueError, match="`num_tags` must be an integer"):
            CRF(bad)
    with pytest.raises(ValueError, match="must be 3 different strings"):
        CRF(3, tag_names=["O", "B-X"])
    with pytest.raises(ValueError, match="`scheme` needs `tag_names`"):
        CRF(3, scheme="BIO")


def test_bad_inputs_are_named():
    layer = CRF(3)
    for shape in ((2, 4, 5), (2, 3), (2, 3, 4, 3)):
        inputs = np.zeros(shape, "float32")
        with pytest.raises(ValueError, match=r"takes potentials of shape.*Rec"):
            layer(inputs)
        with pytest.raises(ValueError, match="takes potentials of shape"):
            layer(keras.Input(batch_shape=shape))
    potentials = np.zeros((2, 4, 3), "float32")
    with pytest.raises(ValueError, match=r"`mask` of layer.*Received"):
        layer(potentials, mask=np.ones((2, 5), bool))
    with pytest.raises(ValueError, match=r"`mask` of layer.*Received"):
        layer(keras.Input((5, 3)), mask=keras.Input((4,), dtype="bool"))
    inputs = keras.Input((None, 3))
    for method in (layer.decode, layer.marginals):
        with pytest.raises(ValueError, match="`CRFLoss` or `CRFDecoder`"):
            method(inputs)
    with pytest.raises(ValueError, match="`CRFLoss` or `CRFDecoder`"):
        layer.log_likelihood(inputs, np.zeros((2, 4), "int32"))
