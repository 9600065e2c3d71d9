"""Operations on Dask's partitions against those on one frame, by both kinds of shuffle."""

import cloudpickle
import dask
import numpy as np
import pandas
import pytest

from rapidsgraph.relational import dask_table
from rapidsgraph.relational.dask_table import DaskTable
from rapidsgraph.relational.table import EagerTable

pytestmark = pytest.mark.usefixtures("one_thread_of_dask")

RANDOM = np.random.default_rng(5)
NUMBERS = pandas.DataFrame({
    "a": RANDOM.integers(0, 12, 200), "b": RANDOM.integers(0, 5, 200), "value": np.arange(200.0),
})  # fmt: skip
TEXT = NUMBERS.assign(a=NUMBERS["a"].map("v{:02}é".format).astype(object))


@pytest.fixture(params=["tasks", "dask"], autouse=True)
def shuffle(request, monkeypatch):
    """The shuffle of few partitions, and Dask's, which runs for many."""
    if request.param == "dask":
        monkeypatch.setattr(dask_table, "MAX_TASK_SHUFFLE", 1)
    with dask.config.set(scheduler="synchronous"):
        yield


def split(frame, sizes):
    """A DaskTable of consecutive rows."""
    stops = np.cumsum(sizes)
    return DaskTable([dask.delayed(frame[stop - size : stop]) for size, stop in zip(sizes, stops)])


def assert_same_rows(result, expected):
    rows = [
        frame.sort_values([*frame], ignore_index=True)
        for frame in (result.collect(), expected.collect())
    ]
    pandas.testing.assert_frame_equal(*rows)


@pytest.mark.parametrize("frame", [NUMBERS, TEXT], ids=["numbers", "text"])
@pytest.mark.parametrize("sizes", [[200], [0, 150, 50], [3, 97, 0, 60, 40]], ids=str)
def test_rows_of_a_key_are_in_one_partition_of_every_table(frame, sizes):
    keys = ["a", "b"]
    partitioned = split(frame, sizes).partition(keys)
    assert partitioned.num_partitions == len(sizes)
    assert_same_rows(partitioned, EagerTable(frame))
    other = split(frame[["a", "b"]].drop_duplicates()[::-1], [*([1] * (len(sizes) - 1)), 100])
    places = {}
    for table in (partitioned, other.partition(keys)):
        for number, partition in enumerate(dask.compute(*table.partitions)):
            for key in partition[keys].itertuples(index=False, name=None):
                assert places.setdefault(key, number) == number


@pytest.mark.parametrize("frame", [NUMBERS, TEXT], ids=["numbers", "text"])
@pytest.mark.parametrize("by", [["a"], ["b"], ["b", "a"], ["value"]], ids=str)
def test_positions_in_the_order_of_a_key(frame, by):
    unique = frame.drop_duplicates(by)
    expected = EagerTable(unique).enumerate(by, "row").to_frame()
    assert expected["row"].tolist() == list(range(len(unique)))
    for sizes in ([200], [0, 3, 197]):
        result = split(unique, sizes).enumerate(by, "row").to_frame()
        assert result.known_divisions
        pandas.testing.assert_frame_equal(result.compute(), expected, check_dtype=frame is NUMBERS)
        assert result.divisions[-1] == len(unique) - 1
    nothing = split(unique[:0], [0, 0]).enumerate(by, "row").to_frame()
    assert list(nothing.compute()) == list(expected)
    assert len(nothing) == 0


@pytest.mark.parametrize("frame", [NUMBERS, TEXT], ids=["numbers", "text"])
def test_joins_and_groups(frame):
    keys = ["a", "b"]
    whole, parts = EagerTable(frame), split(frame, [120, 0, 80])
    operations = [
        lambda rows: rows.aggregate(keys, value="sum"),
        lambda rows: rows.aggregate(["b"], value="min"),
        lambda rows: rows.smallest(["a"], order=["b", "value"]),
        lambda rows: rows.distinct(keys),
        lambda rows: rows.distinct(keys, partition_by=["b"]),
        lambda rows: rows.filter(lambda row: row["value"] > 50).assign(one=1),
        lambda rows: rows.copy_columns(["a"], ["c"]).rename(["b"], ["d"]).select(["c", "d"]),
        lambda rows: rows.union(rows, rows),
        lambda rows: rows.partition(["b"]).join(
            rows.select(["b", "value"]).aggregate(["b"], value="max").rename(["value"], ["most"]),
            ["b"],
        ),
        lambda rows: rows.lookup(
            rows.aggregate(["b"], value="max").rename(["value"], ["most"]), ["b"]
        ),
        lambda rows: rows.partition(keys).difference(
            rows.filter(lambda row: row["value"] < 70).distinct(keys), keys
        ),
        lambda rows: rows.partition(["a"]).join(
            rows.filter(lambda row: row["value"] < 9).aggregate(["a"], value="min")
            .rename(["value"], ["least"]), ["a"], how="left",
        ),
    ]  # fmt: skip
    for operation in operations:
        assert_same_rows(operation(parts), operation(whole))
    assert parts.count() == whole.count() == 200
    assert (
        parts.totals("b", "value") == whole.totals("b", "value") == [200, NUMBERS["b"].sum(), 19900]
    )


def count_tasks(table):
    return len(dask.base.collections_to_expr(table.partitions).__dask_graph__())


def test_a_chain_of_operations_is_one_task_per_partition():
    rows = split(NUMBERS, [120, 80]).persist()
    chain = rows.filter(lambda row: row["value"] > 50).rename(["a"], ["c"]).assign(one=1)
    union = chain.union(chain.select([*"cb", "value"]).assign(one=2))
    assert count_tasks(union) == 2 + count_tasks(rows)
    expected = EagerTable(NUMBERS[NUMBERS["value"] > 50].rename(columns={"a": "c"}).assign(one=1))
    assert_same_rows(union, expected.union(expected.assign(one=2)))


def test_totals_of_persisted_rows():
    for table in (split(NUMBERS, [3, 0, 197]), EagerTable(NUMBERS)):
        rows, totals = table.filter(lambda row: row["b"] > 0).persist_with_totals("b", "value")
        positive = NUMBERS[NUMBERS["b"] > 0]
        assert totals == [len(positive), positive["b"].sum(), positive["value"].sum()]
        assert_same_rows(rows, EagerTable(positive))


@pytest.mark.parametrize("frame", [NUMBERS, TEXT], ids=["numbers", "text"])
def test_rows_of_a_frame_in_partitions(frame):
    keys = frame[["a", "b"]].drop_duplicates(ignore_index=True)
    rows = split(frame, [100, 60, 40]).partition(["a", "b"])
    assert_same_rows(rows.distribute(keys, ["a", "b"]), EagerTable(keys))
    joined = rows.join(rows.distribute(keys[:5], ["a", "b"]), ["a", "b"])
    assert_same_rows(joined, EagerTable(frame).join(EagerTable(keys[:5]), ["a", "b"]))


def test_no_task_has_all_rows_of_a_frame(monkeypatch):
    monkeypatch.setattr(dask_table, "MAX_TASK_SHUFFLE", 32)
    frame = pandas.DataFrame({"a": np.arange(10_000)})
    table = split(NUMBERS, [100, 60, 40]).distribute(frame, ["a"])
    tasks = dask.base.collections_to_expr(table.partitions).__dask_graph__().values()
    sizes = [len(cloudpickle.dumps(task)) for task in tasks]
    assert sum(sizes) < 1.2 * frame["a"].nbytes
    assert max(sizes) < 0.4 * frame["a"].nbytes
