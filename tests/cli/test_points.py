"""Points come back from every format to the last bit."""

import csv
import io
import json
from math import inf, isnan, nan

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runwatch.cli.report.points import SCHEMA, WRITERS, rows
from runwatch.records import Batch
from tests.cli.samples import batch


def written(to: str, *batches: Batch) -> bytes:
    out = io.BytesIO()
    writer = WRITERS[to](out)
    for one in batches:
        writer.write(rows(one, one.stream.name))
    writer.close()
    return out.getvalue()


def read(to: str, data: bytes) -> list[float]:
    if to == "csv":
        return [float(row["value"]) for row in csv.DictReader(io.StringIO(data.decode()))]
    if to == "jsonl":
        return [float(json.loads(line)["value"]) for line in data.splitlines()]
    table = (
        pq.read_table(io.BytesIO(data)) if to == "parquet" else pa.ipc.open_stream(data).read_all()
    )
    assert table.schema == SCHEMA
    return table.column("value").to_pylist()


@pytest.mark.parametrize("to", WRITERS)
@given(values=st.lists(st.floats()))
def test_values_return_to_the_last_bit(to: str, values: list[float]) -> None:
    """Every double is read back as itself, NaN and infinities too."""
    back = read(to, written(to, batch(values)))
    assert [repr(value) for value in values] == [repr(value) for value in back]


@pytest.mark.parametrize("to", WRITERS)
def test_no_points_give_an_empty_table(to: str) -> None:
    """A log that reports nothing is no error in any format."""
    assert read(to, written(to)) == []


def test_csv_has_the_nine_columns_in_order() -> None:
    """Scripts rely on the names; a whole number is written plainly, an absent one is empty."""
    text = written("csv", batch([100.0, nan, -inf], metric="a,b", unit="ms")).decode()
    moment = "2026-03-11 14:02:05.123456Z"
    assert text.splitlines() == [
        "stream,line,time,rank,step,epoch,metric,value,unit",
        f'"train.log",1,{moment},,1,0.5,"a,b",100,"ms"',
        f'"train.log",2,{moment},,2,0.5,"a,b",nan,"ms"',
        f'"train.log",3,{moment},,3,0.5,"a,b",-inf,"ms"',
    ]


def test_json_lines_are_strict_json() -> None:
    """What JSON cannot say is a string that float() understands; nothing becomes null."""
    lines = written("jsonl", batch([nan, inf, 1.5])).splitlines()
    read = [json.loads(line, parse_constant=pytest.fail)["value"] for line in lines]
    assert read == ["NaN", "Infinity", 1.5]
    assert isnan(float(read[0]))
