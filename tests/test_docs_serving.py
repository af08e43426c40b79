"""The code of docs/serving.md and examples/serving, run as it is.

`grpc_client.py` runs against a server made with the stubs of
tensorflow-serving-api, and the requests of `warm_up.py` are read back and
answered. TensorFlow Serving itself is not run, nor are the commands with
`docker` and `curl`, the thread options, `batching.config` and the change of
versions.
"""

import json
import runpy
import shutil
from concurrent import futures

import numpy as np
import pytest
import tensorflow as tf
from conftest import ON_TENSORFLOW
from conftest import ROOT
from doc_snippets import read_blocks
from doc_snippets import run_blocks

import keras_elmo

pytestmark = [ON_TENSORFLOW, pytest.mark.exhaustive]
PAGE = "docs/serving.md"


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    elmo = keras_elmo.ElmoLayer.from_preset("english_mini")
    folder = str(tmp_path_factory.mktemp("docs") / "exported")
    keras_elmo.export_saved_model(elmo, folder)
    return folder


@pytest.fixture
def serving_api():
    reason = "tensorflow-serving-api is not installed."
    pytest.importorskip("tensorflow_serving.apis.predict_pb2", reason=reason)


def check_vectors(found, strings):
    elmo = keras_elmo.ElmoLayer.from_preset("english_mini")
    expected = elmo(keras_elmo.batch_to_ids([s.split() for s in strings]))
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_page(tmp_path, monkeypatch, capsys, portable_path):
    monkeypatch.chdir(tmp_path)
    first, *others = read_blocks(PAGE)
    names = run_blocks([first])
    assert [capsys.readouterr().out] == read_blocks(PAGE, "text")[:1]
    run_blocks(others, names)
    answer = {k: v.numpy() for k, v in names["answer"].items()}
    assert answer["tokens"].tolist()[1] == [b"Hello", b"", b"", b""]
    tags = np.array(names["TAGS"])[answer["tags"].argmax(-1)].astype("S")
    assert answer["tags_labels"][0].tolist() == tags[0].tolist()
    genres = np.array(names["GENRES"])[answer["genre"].argmax(-1)]
    assert answer["genre_labels"].tolist() == genres.astype("S").tolist()
    check_vectors(names["vectors"]["elmo"], ["First sentence .", "Another ."])


def test_the_answer_on_the_page(tmp_path):
    """What the server would send, from the model that it would load."""
    model, path = keras_elmo.Tagger.load("english_pos").model, tmp_path / "pos"
    keras_elmo.export_saved_model(model, path)
    served = tf.saved_model.load(str(path)).signatures["serving_default"]
    answer = served(tf.constant(["They can fish .", "Hello !"]))
    (stated,) = read_blocks(PAGE, "json")
    rows = json.loads(stated)["predictions"]
    for name, x in answer.items():
        expected = np.array([row[name] for row in rows])
        expected = expected.astype("S") if x.dtype == tf.string else expected
        assert x.numpy().tolist() == expected.tolist()


def test_warm_up(serving_api, exported, tmp_path, monkeypatch):
    from tensorflow_serving.apis import prediction_log_pb2

    monkeypatch.chdir(tmp_path)
    main = runpy.run_path(str(ROOT / "examples/serving/warm_up.py"))["main"]
    for version in ("1", "2"):
        shutil.copytree(exported, "staging")
        main(["staging", "served/elmo"])
        path = f"served/elmo/{version}"
        file = f"{path}/assets.extra/tf_serving_warmup_requests"
        names = []
        for record in tf.data.TFRecordDataset(file):
            log = prediction_log_pb2.PredictionLog.FromString(record.numpy())
            request = log.predict_log.request
            names.append(request.model_spec.signature_name)
            assert answer(request, path)
        assert names == ["default", "serving_default", "tokens"]


def answer(request, folder):
    """Returns the outputs for a `PredictRequest`: a dictionary of arrays."""
    signatures = tf.saved_model.load(folder).signatures
    inputs = {
        name: tf.constant(tf.make_ndarray(x))
        for name, x in request.inputs.items()
    }
    outputs = signatures[request.model_spec.signature_name](**inputs)
    wanted = list(request.output_filter) or list(outputs)
    return {name: outputs[name].numpy() for name in wanted}


def test_grpc(serving_api, exported, capsys):
    import grpc
    from tensorflow_serving.apis import predict_pb2
    from tensorflow_serving.apis import prediction_service_pb2_grpc as service

    asked = []

    class Servicer(service.PredictionServiceServicer):
        def Predict(self, request, context):
            response = predict_pb2.PredictResponse()
            asked.append(list(request.output_filter))
            for name, array in answer(request, exported).items():
                response.outputs[name].CopyFrom(tf.make_tensor_proto(array))
            return response

    server = grpc.server(futures.ThreadPoolExecutor(1))
    service.add_PredictionServiceServicer_to_server(Servicer(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    client = runpy.run_path(str(ROOT / "examples/serving/grpc_client.py"))
    texts, address = ["First sentence .", "Another ."], f"127.0.0.1:{port}"
    server.start()
    try:
        client["main"]([*texts, "--server", address])
        vectors = client["ask"](texts, address, "elmo", "elmo")
        with pytest.raises(SystemExit):
            client["main"]([*texts, "--server", address, "--output", "none"])
    finally:
        server.stop(None).wait()
    printed = capsys.readouterr()
    assert printed.out == "(2, 3, 512)\n"
    assert printed.err.startswith("grpc_client.py: ")
    assert asked == [["elmo"], ["elmo"], ["none"]]
    check_vectors(vectors, texts)
