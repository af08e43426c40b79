"""Asks a server for one of its outputs over gRPC.

Needs `pip install tensorflow-serving-api`.
"""

import grpc
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2
from tensorflow_serving.apis import prediction_service_pb2_grpc

channel = grpc.insecure_channel(
    "localhost:8500", options=[("grpc.max_receive_message_length", -1)]
)
stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)

request = predict_pb2.PredictRequest()
request.model_spec.name = "elmo"
request.model_spec.signature_name = "default"
request.inputs["strings"].CopyFrom(
    tf.make_tensor_proto(["First sentence .", "Another ."])
)
request.output_filter.append("elmo")  # Without it, all outputs come.
response = stub.Predict(request, timeout=60)
vectors = tf.make_ndarray(response.outputs["elmo"])
print(vectors.shape)
