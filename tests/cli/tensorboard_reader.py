"""Reads TensorBoard's event files by other means than those that wrote them: checksums bit by bit, messages by Google's protobuf library
on a schema of the documented fields (tensorboard/compat/proto and plugins/hparams/plugin_data.proto of github.com/tensorflow/tensorboard)."""
import struct

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, struct_pb2

DOUBLE, FLOAT, INT64, INT32, STRING, BYTES, MESSAGE = 1, 2, 3, 5, 9, 12, 11

SCHEMA = {
    "Event": [(1, "wall_time", DOUBLE), (2, "step", INT64), (3, "file_version", STRING), (5, "summary", "Summary"), (7, "session_log", "SessionLog")],
    "SessionLog": [(1, "status", INT32)],
    "Summary": [(1, "value", ["Value"])],
    "Value": [(1, "tag", STRING), (2, "simple_value", FLOAT), (5, "histo", "Histogram"), (9, "metadata", "Metadata")],
    "Histogram": [(1, "min", DOUBLE), (2, "max", DOUBLE), (3, "num", DOUBLE), (4, "sum", DOUBLE), (5, "sum_squares", DOUBLE),
                  (6, "bucket_limit", [DOUBLE]), (7, "bucket", [DOUBLE])],
    "Metadata": [(1, "plugin_data", "PluginData")],
    "PluginData": [(1, "plugin_name", STRING), (2, "content", BYTES)],
    "HParams": [(1, "version", INT32), (3, "session_start_info", "SessionStart"), (4, "session_end_info", "SessionEnd")],
    "SessionStart": [(1, "hparams", ["Hparam"]), (4, "group_name", STRING), (5, "start_time_secs", DOUBLE)],
    "Hparam": [(1, "key", STRING), (2, "value", ".google.protobuf.Value")],  # an entry of map<string, google.protobuf.Value>
    "SessionEnd": [(1, "status", INT32), (2, "end_time_secs", DOUBLE)],
}


def message_classes():
    file = descriptor_pb2.FileDescriptorProto(name="events.proto", package="t", syntax="proto3", dependency=["google/protobuf/struct.proto"])
    for name, fields in SCHEMA.items():
        message = file.message_type.add(name=name)
        for number, field, kind in fields:
            repeated, kind = isinstance(kind, list), kind[0] if isinstance(kind, list) else kind
            declared = message.field.add(name=field, number=number, label=3 if repeated else 1, type=kind if isinstance(kind, int) else MESSAGE)
            if not isinstance(kind, int):
                declared.type_name = kind if kind.startswith(".") else ".t." + kind
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(struct_pb2.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(file.SerializeToString())
    of = getattr(message_factory, "GetMessageClass", None) or message_factory.MessageFactory(pool).GetPrototype
    return {name: of(pool.FindMessageTypeByName("t." + name)) for name in SCHEMA}


CLASSES = message_classes()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return (crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF


def events(path):
    """Every record of a file; an AssertionError for anything that is not as it has to be."""
    data, at, out = path.read_bytes(), 0, []
    while at < len(data):
        (length, length_crc), at = struct.unpack_from("<QI", data, at), at + 12
        assert masked(data[at - 12:at - 4]) == length_crc, f"{path}: the length's checksum at {at - 12}"
        message, at = data[at:at + length], at + length
        assert len(message) == length, f"{path} ends within a record"
        assert masked(message) == struct.unpack_from("<I", data, at)[0], f"{path}: the message's checksum at {at}"
        at += 4
        event = CLASSES["Event"].FromString(message)
        assert event.SerializeToString(deterministic=True) and not unknown_fields(event), f"{path}: fields that are not documented"
        out.append(event)
    assert out and out[0].file_version == "brain.Event:2", path
    return out


def unknown_fields(message):
    """Whether the bytes held a field that the schema lacks: those survive a round trip, so discarding them shortens the message."""
    whole = len(message.SerializeToString())
    copy = type(message)()
    copy.CopyFrom(message)
    copy.DiscardUnknownFields()
    return len(copy.SerializeToString()) != whole


def scalars(*paths):
    """{tag: [(step, value)]} of a run's files in the order of their names, as TensorBoard takes them in: where a file begins anew, what was
    read before is dropped. Wall times of a file do not go back."""
    out, begun = {}, False
    for path, event in ((path, event) for path in sorted(paths, key=lambda path: path.name) for event in events(path)):
        if event.file_version:
            wall = 0
        assert event.wall_time >= wall, path
        wall = event.wall_time
        if event.session_log.status == 1:  # START; the first is no restart
            out, begun = ({tag: [(step, x) for step, x in points if step < event.step] for tag, points in out.items()} if begun else out), True
        for value in event.summary.value:
            if not value.HasField("metadata") and not value.HasField("histo"):
                out.setdefault(value.tag, []).append((event.step, value.simple_value))
    return out


def hparams(path):
    """(group, {key: value}, status of the end or None)."""
    group = keys = end = None
    for event in events(path):
        for value in event.summary.value:
            if value.metadata.plugin_data.plugin_name != "hparams":
                continue
            data = CLASSES["HParams"].FromString(value.metadata.plugin_data.content)
            if value.tag == "_hparams_/session_start_info":
                start = data.session_start_info
                group, keys = start.group_name, {entry.key: getattr(entry.value, entry.value.WhichOneof("kind")) for entry in start.hparams}
            elif value.tag == "_hparams_/session_end_info":
                end = data.session_end_info.status
    return group, keys, end


def histograms(path):
    return {value.tag: (event.step, value.histo) for event in events(path) for value in event.summary.value if value.HasField("histo")}
