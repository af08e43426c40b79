"""Asks a server for one of its outputs over gRPC, and prints its shape.

    python grpc_client.py "First sentence ." "Another ."
    python grpc_client.py --model pos --output tags "They can fish ."

Needs `pip install tensorflow-serving-api`.
"""

import argparse

import grpc
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2
from tensorflow_serving.apis import prediction_service_pb2_grpc


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("sentences", nargs="+", metavar="SENTENCE", help="tokenised sentence")
    add("--server", default="localhost:8500", help="Default: %(default)s")
    add("--model", default="elmo", help="model name. Default: %(default)s")
    add("--output", default="elmo", help="output name. Default: %(default)s")
    arguments = parser.parse_args(argv)
    try:
        print(ask(**vars(arguments)).shape)
    except grpc.RpcError as error:
        parser.exit(1, f"grpc_client.py: {error.details()}\n")


def ask(sentences, server, model, output):
    """Returns one output for sentences, as an array."""
    request = predict_pb2.PredictRequest()
    request.model_spec.name = model
    request.model_spec.signature_name = "default"
    request.inputs["strings"].CopyFrom(tf.make_tensor_proto(sentences))
    request.output_filter.append(output)  # Without it, all outputs come.
    options = [("grpc.max_receive_message_length", -1)]
    with grpc.insecure_channel(server, options=options) as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        response = stub.Predict(request, timeout=60)
    return tf.make_ndarray(response.outputs[output])


if __name__ == "__main__":
    main()
