"""DuckDB: the joins of the frame forms of PageRank and BFS in SQL."""

from __future__ import annotations

import duckdb
import pandas

from pipelines.benchmarks.adapters import Library, scatter
from pipelines.benchmarks.graphs import Workload

ITERATIONS = 10  # of PageRank
library = Library("DuckDB")


def pagerank(edges: pandas.DataFrame, case: Workload) -> pandas.DataFrame:
    database = duckdb.connect()
    database.register("edges", edges)
    database.execute("create table arcs as select distinct source, destination from edges")
    database.execute("""
        create table state as
        select vertex, coalesce(degree, 0) as degree, 1.0::double / count(*) over () as pagerank
        from (select source as vertex from arcs union select destination from arcs)
        left join (select source as vertex, count(*) as degree from arcs group by source)
        using (vertex)""")
    for _ in range(ITERATIONS):
        database.execute("""
            create or replace table state as
            with received as (
                select destination as vertex, sum(pagerank / degree) as received
                from arcs join state on source = vertex group by destination
            ), totals as (
                select count(*) as size, sum(if(degree = 0, pagerank, 0)) as dangling from state
            )
            select vertex, degree,
                0.15 / size + 0.85 * (coalesce(received, 0) + dangling / size) as pagerank
            from totals, state left join received using (vertex)""")
    return database.sql("select vertex, pagerank from state order by vertex").df()


def bfs(edges: pandas.DataFrame, case: Workload) -> pandas.DataFrame:
    database = duckdb.connect()
    database.register("edges", edges)
    database.execute("create table arcs as select source, destination from edges")
    database.execute(
        f"create table reached as select {case.start}::bigint as vertex, 0 as distance"
    )
    level, size = 0, 1
    while size:
        level += 1
        [(size,)] = database.execute(f"""
            insert into reached
            select distinct destination, {level} from arcs join reached on source = vertex
            where distance = {level - 1} and destination not in (select vertex from reached)
            """).fetchall()
    return database.sql("select vertex, distance from reached order by vertex").df()


for task, run, column in (("pagerank", pagerank, "pagerank"), ("bfs", bfs, "distance")):
    library.add(task, "joins", run, lambda case: case.host_frame, scatter(column), engine="pandas")
