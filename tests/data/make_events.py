#!/usr/bin/env python3
"""events.json: an event file as TensorBoard's own messages and checksums make it, in hexadecimal digits.

    python3 tests/data/make_events.py        # with PyPI's tensorboard 2.x; takes a second

The test writes the same events, with the times 1000, 1001, ..., and compares all bytes.
"""
import io
import json
import pathlib

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.summary.writer.record_writer import RecordWriter


def histogram(values):
    low, high = min(values), max(values)
    bins = 30 if high > low else 1
    limits = [low * (1 - i / bins) + high * (i / bins) for i in range(1, bins)] + [high]
    counts = [0] * bins
    for v in values:
        counts[min(int((v - low) / (high - low) * bins), bins - 1) if high > low else 0] += 1
    return HistogramProto(min=low, max=high, num=len(values), sum=sum(values), sum_squares=sum(v * v for v in values),
                          bucket_limit=limits, bucket=counts)


def value(**fields):
    return Summary(value=[Summary.Value(**fields)])


text = Summary.Value(
    tag="settings",
    tensor=TensorProto(dtype="DT_STRING", tensor_shape=TensorShapeProto(), string_val=["| 가 | b |".encode()]),
    metadata=SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"), data_class="DATA_CLASS_TENSOR"))
events = [
    Event(file_version="brain.Event:2"),
    Event(step=0, summary=Summary(value=[text])),
    Event(step=1, summary=value(tag="loss", simple_value=0.5)),
    Event(step=300, summary=Summary(value=[Summary.Value(tag="a", simple_value=-1e30),
                                           Summary.Value(tag="b", simple_value=float("inf"))])),
    Event(step=300, summary=value(tag="weight", histo=histogram([0.25 * i * i - 3 for i in range(40)]))),
    Event(step=300, summary=value(tag="same", histo=histogram([2.0, 2.0, 2.0]))),
    Event(step=2**40, summary=value(tag="none", histo=HistogramProto())),
]
out = io.BytesIO()
writer = RecordWriter(out)
for number, event in enumerate(events):
    event.wall_time = 1000 + number
    data = event.SerializeToString()
    if number == 1:  # step 0 is a default, which protobuf leaves out and tapegrad writes
        data = data[:9] + b"\x10\x00" + data[9:]
    writer.write(data)
path = pathlib.Path(__file__).with_name("events.json")
path.write_text(json.dumps({"file": out.getvalue().hex()}) + "\n")
