"""DuckDB in and out: a query is the edge table, and the forest is a table that queries can read."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

try:
    import duckdb
except ModuleNotFoundError as error:
    sys.exit(f"{error}: pip install duckdb")


import dfmst


def main(folder: Path) -> Any:
    folder.mkdir(parents=True, exist_ok=True)
    connection = duckdb.connect(str(folder / "roads.duckdb"))
    connection.sql(
        """
        create or replace table roads as
        select a::varchar as source, b::varchar as target, round(abs(hash(a * 100000 + b)) % 10000 / 100, 2) as km
        from (select i % 5000 as a, (i * 7919 + i // 5000) % 5000 as b from range(40000) numbers(i))
        where a != b
        """
    )
    forest = dfmst.minimum_spanning_forest(connection.table("roads"), weight="km")  # a pyarrow.Table
    connection.register("forest", forest)
    connection.sql("create or replace table trunk as select * from forest")

    # The same rows without leaving DuckDB: in groupby and join, by its own threads and within its memory.
    inside = dfmst.minimum_spanning_forest(connection.table("roads"), weight="km", algorithm="dataframe")
    different = inside.except_(connection.table("trunk")).fetchall()
    print(f"{len(different)} rows differ")

    summary = connection.sql("select count(*) as lines, round(sum(km), 2) as km, max(km) as longest from trunk")
    print(summary)
    (result,) = summary.fetchall()
    connection.close()
    return (*result, len(different))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
