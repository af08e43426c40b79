import brute_force_crf as brute_force
import keras
import numpy as np
import pytest
from backend_gradients import weight_gradients
from comparisons import assert_close
from comparisons import assert_equal
from crf.crf_layers import layer_of
from keras import ops
from keras.ops import convert_to_numpy as as_numpy

from keras_elmo import CRF
from keras_elmo import CRFDecoder
from keras_elmo import CRFLoss
from keras_elmo.crf.tags import allowed_tags
from keras_elmo.crf.tags import checked_log_likelihood

BIO = ["O", "B-X", "I-X", "B-Y", "I-Y"]
BIOES = ["O"] + [f"{letter}-{kind}" for kind in "XY" for letter in "BIES"]
CHAIN = brute_force.random_chain(brute_force.MASK, 3)


def test_methods_equal_the_sum_over_all_sequences():
    layer, (x, mask, tags, *_) = layer_of(CHAIN), CHAIN
    found = layer.log_likelihood(x, tags, mask)
    assert_close(found, brute_force.log_likelihood(CHAIN), atol=1e-5)
    assert_equal(layer.decode(x, mask), brute_force.best_tags(CHAIN))
    counts = brute_force.expected_counts(CHAIN)[0]
    assert_close(layer.marginals(x, mask), counts, atol=1e-5)


def test_gradients_of_the_weights():
    _, found = weight_gradients(
        layer_of(CHAIN),
        lambda x: ops.sum(checked_log_likelihood(x, CHAIN.tags)),
        ops.convert_to_tensor(CHAIN.potentials),
        mask=CHAIN.mask,
    )
    there = brute_force.expected_counts(CHAIN, CHAIN.tags)[1:]
    expected = brute_force.expected_counts(CHAIN)[1:]
    for gradient, a, b in zip(found.values(), there, expected, strict=True):
        assert_close(gradient, a - b, rtol=1e-4, atol=1e-5)


def test_tags_are_not_likely_because_all_others_are_impossible_too():
    layer = CRF(3, tag_names=["O", "B-X", "I-X"], scheme="BIO")
    potentials = np.zeros((2, 2, 3), "float32")
    potentials[1, 0, :2] = -np.inf  # Only I-X, which must not come first.
    tags = np.array([[1, 2], [2, 2]])
    with pytest.raises(ValueError, match="probability zero"):
        layer.log_likelihood(potentials, tags)


def test_the_mask_of_the_inputs_counts_and_goes_no_further():
    layer = layer_of(CHAIN)
    potentials = np.where(CHAIN.mask[..., None], CHAIN.potentials, 0)
    masked = keras.layers.Masking()(potentials)
    given = layer(potentials, mask=CHAIN.mask)
    assert_equal(layer(masked), given)
    assert getattr(layer(masked), "_keras_mask", None) is None
    assert_equal(as_numpy(given)[:, :, -1, 0], CHAIN.mask)
    # An explicit mask takes precedence; it may be numeric.
    everything = layer(masked, mask=np.ones((7, 4), "int32"))
    assert_equal(everything, layer(potentials))


@pytest.mark.parametrize(("names", "scheme"), [(BIO, "BIO"), (BIOES, "BIOES")])
@pytest.mark.parametrize("scale", [1.0, 1e4, 1e20])
def test_what_a_scheme_forbids_is_never_decoded(names, scheme, scale):
    generator = np.random.default_rng(0)
    mask = np.arange(8) < np.array([8] * 20 + [1] * 4 + [2] * 4)[:, None]
    shape = (*mask.shape, len(names))
    potentials = generator.normal(0, scale, shape).astype("float32")
    # Adversarial: they strongly favour tags that must not begin a span.
    potentials[:, :, np.char.startswith(names, "I")] += 9 * scale
    normal = keras.initializers.RandomNormal(0, scale)
    layer = CRF(
        len(names),
        names,
        scheme,
        transitions_initializer=normal,
        boundary_initializer=normal,
    )
    allowed = allowed_tags(names, scheme)
    best = as_numpy(layer.decode(potentials, mask))
    for row, real in zip(best, mask):
        tags = row[real]
        assert allowed.start[tags[0]] and allowed.end[tags[-1]]
        assert np.all(allowed.transitions[tags[:-1], tags[1:]])
    marginals = as_numpy(layer.marginals(potentials, mask))
    assert_close(marginals.sum(axis=-1), mask, rtol=0, atol=1e-5)
    assert np.all(marginals[:, 0, ~allowed.start] == 0)
    assert np.all(marginals[20:24, 0, ~allowed.end] == 0)
    likelihood = as_numpy(layer.log_likelihood(potentials, best, mask))
    # The most likely sequence: near zero, up to the rounding of such scores.
    assert np.all(np.isfinite(likelihood)) and np.all(likelihood < scale * 1e-5)


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_half_precision_sums_in_float32(policy):
    half = ops.cast(CHAIN.potentials, keras.DTypePolicy(policy).compute_dtype)
    layer, exact = layer_of(CHAIN, dtype=policy), layer_of(CHAIN)
    # Potentials in float32 are not rounded either.
    for potentials in (half, CHAIN.potentials):
        found = layer(potentials, mask=CHAIN.mask)
        wide = ops.cast(potentials, "float32")
        assert_equal(found, exact(wide, mask=CHAIN.mask))
        assert keras.backend.standardize_dtype(found.dtype) == "float32"
        marginals = (
            CRFDecoder(return_marginals=True, dtype=dtype)(found)[1]
            for dtype in (policy, "float32")
        )
        assert_equal(*marginals)


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
        boundary_initializer="random_normal",
        transitions_regularizer=keras.regularizers.L2(0.1),
    )
    for crf in (layer, CRF.from_config(layer.get_config())):
        crf(np.zeros((1, 2, 3), "float32"))
        names = "transitions", "start_transitions", "end_transitions"
        assert tuple(weight.name for weight in crf.weights) == names
        losses = [float(as_numpy(loss)) for loss in crf.losses]
        assert losses == pytest.approx([0.9])
        _, start, end = crf.get_weights()
        assert np.all(start != end)  # Each draws its own values.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([0], "`num_tags` must be an integer"),
        ([3, ["O", "B-X"]], "must be 3 different strings"),
        ([3, None, "BIO"], "`scheme` needs `tag_names`"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        CRF(*arguments)


def test_bad_inputs_are_named():
    layer = CRF(3)
    for shape in ((2, 4, 5), (2, 3)):
        for x in (np.zeros(shape, "float32"), keras.Input(batch_shape=shape)):
            with pytest.raises(ValueError, match="takes potentials of shape"):
                layer(x)
    masks = np.ones((2, 5), bool), keras.Input(batch_shape=(2, 5), dtype="bool")
    inputs = np.zeros((2, 4, 3), "float32"), keras.Input(batch_shape=(2, 4, 3))
    for x, mask in zip(inputs, masks):
        with pytest.raises(ValueError, match=r"`mask` of layer.*Received"):
            layer(x, mask=mask)
    with pytest.raises(ValueError, match="`CRFLoss` or `CRFDecoder`"):
        layer.decode(keras.Input((None, 3)))
