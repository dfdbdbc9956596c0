"""Options: the signatures are made of one definition, and the table of kinds of data says what they lack."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner

import dfmst
from dfmst._common.options import LACKING, WORLDS, reason
from dfmst._trees import request
from dfmst.cli import main
from dfmst.cli.program import FORMER

pytest.importorskip("dask.dataframe")
import dfmst.dask

KINDS: dict[str, Any] = {"memory": dfmst, "stream": dfmst.stream, "dask": dfmst.dask}
ROADS = pd.DataFrame({"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3, 1, 2]})


def versions() -> dict[str, dict[str, list[str]]]:
    """Functions that several kinds of data have: name -> kind -> its parameters."""
    found: dict[str, dict[str, list[str]]] = {}
    for kind, module in KINDS.items():
        for name in module.__all__:
            if inspect.isfunction(getattr(module, name)) and name != "plan":  # it takes sizes, or a frame of Dask
                found.setdefault(name, {})[kind] = list(inspect.signature(getattr(module, name)).parameters)
    return {name: kinds for name, kinds in found.items() if len(kinds) > 1}


def test_the_table_has_every_option_that_a_version_lacks_and_no_other() -> None:
    lacking = {
        (kind, name, option)
        for name, kinds in versions().items()
        for option in {option for parameters in kinds.values() for option in parameters}
        for kind, parameters in kinds.items()
        if option not in parameters
    }
    assert not {each for each in lacking if not reason(*each)}
    known = {option for kinds in versions().values() for parameters in kinds.values() for option in parameters}
    assert known.issuperset(LACKING)
    for option, entries in LACKING.items():
        for kind, _, function in (entry.partition(".") for kinds in entries for entry in kinds.split()):
            assert kind in WORLDS
            of_kind = [name for of, name, lacked in lacking if (of, lacked) == (kind, option)]
            has = option in versions().get(function, {}).get(kind, ())
            assert not has if function else of_kind or kind == "gpu"


def test_typed_dictionaries_say_what_the_definition_says() -> None:
    kinds = [each for each in vars(request).values() if isinstance(each, type) and hasattr(each, "__total__")]
    assert len(kinds) > 5
    defined = inspect.signature(request.Request.of).parameters
    for name, annotation in (entry for kind in kinds for entry in kind.__annotations__.items()):
        declared = annotation.__forward_arg__
        assert name == "progress" or declared in (each := defined[name].annotation, each.removesuffix(" | None"))


@pytest.mark.parametrize("function", [dfmst.minimum_spanning_forest, dfmst.in_forest, dfmst.stream.fold])
def test_a_signature_shows_options_with_types_and_defaults(function: Any) -> None:
    threads = inspect.signature(function).parameters["threads"]
    assert (threads.kind, threads.default, threads.annotation) == (threads.KEYWORD_ONLY, None, "int | None")
    assert "options" not in inspect.signature(function).parameters
    assert "return_trace" not in list(inspect.signature(function).parameters)[:-1]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda **bad: dfmst.minimum_spanning_forest(ROADS, **bad), "minimum_spanning_forest()"),
        (lambda **bad: dfmst.maximum_spanning_forest(ROADS, **bad), "maximum_spanning_forest()"),
        (lambda **bad: dfmst.stream.fold([pa.table(ROADS)], **bad), "fold()"),
        (lambda **bad: dfmst.dask.spanning_forest(ROADS, **bad), "spanning_forest()"),
    ],
)
def test_an_unknown_option_is_named_with_the_nearest_one(call: Any, name: str) -> None:
    with pytest.raises(TypeError) as caught:
        call(algorthm="prim")
    assert str(caught.value) == f"{name} got an unexpected keyword argument 'algorthm'; did you mean 'algorithm'?"


@pytest.mark.parametrize(
    ("function", "words", "meant"),
    [
        (dfmst.clusters, "t cutoff max_dist distance_threshold", "distance"),
        (dfmst.clusters, "n num_clusters", "n_clusters"),
        (dfmst.stream.clusters, "num_threads", "threads"),
        (dfmst.partition, "n_clusters", "n"),
        (dfmst.knn_edges, "n_neighbors n", "k"),
        (dfmst.hdbscan, "cluster_selection_epsilon", "epsilon"),
        (dfmst.minimum_spanning_forest, "src u", "source"),
        (dfmst.minimum_spanning_forest, "dst v", "target"),
        (dfmst.minimum_spanning_forest, "edge_attr distance", "weight"),
        (dfmst.linked_rows, "subset", "on"),
        (dfmst.stream.linked_rows, "keys", "on"),
        (dfmst.points_forest, "n_neighbors", "k"),
        (dfmst.relabel, "cluster_", "cluster"),
    ],
)
def test_options_of_other_libraries_suggest_those_that_are_meant(function: Any, words: str, meant: str) -> None:
    for word in words.split():
        with pytest.raises(TypeError) as caught:
            function(ROADS, **{word: 3})
        assert str(caught.value).partition(f"{word!r}")[2] == f"; did you mean {meant!r}?"


#: Word of another library -> options that it may mean, and the function to call for it.
WORDS = {
    "threshold": ("distance", "clusters(distance=)"),
    "n_jobs": ("threads", "minimum_spanning_forest(threads=)"),
    "eps": ("distance epsilon", "hdbscan(epsilon=)"),
    "min_cluster_size": ("", "hdbscan(min_cluster_size=)"),
    "k": ("n_clusters n layers", "clusters(n_clusters=)"),
    "seed": ("", "generate.rmat(seed=)"),
    "on": ("", "linked_rows(on=)"),
    "left_on": ("source on", "linked_rows(on=)"),
    "metric": ("", "points_forest(metric=)"),
}
PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (*KINDS.values(), dfmst.arrays, dfmst.forest, dfmst.interop)
    for name in module.__all__
    if inspect.isfunction(getattr(module, name)) and name not in ("release_memory", "parse_memory", "total_weight")
}
del PUBLIC["dfmst.dask.verify"]  # it first looks at the frames


@pytest.mark.parametrize("name", PUBLIC)
def test_every_function_knows_words_of_other_libraries(name: str) -> None:
    parameters = inspect.signature(PUBLIC[name]).parameters
    frames = [ROADS] * sum(
        each.default is each.empty and each.kind is not each.VAR_KEYWORD for each in parameters.values()
    )
    for word, (options, elsewhere) in WORDS.items():
        own = next((repr(option) for option in options.split() if option in parameters), f"dfmst.{elsewhere}")
        if word not in parameters:
            with pytest.raises(TypeError, match=rf"(?s).*{word!r}; did you mean {re.escape(own)}\?|takes no \w+= for"):
                PUBLIC[name](*frames, **{word: 3})


@pytest.mark.parametrize("command", main.commands)
def test_every_command_knows_words_of_other_libraries(command: str) -> None:
    known = {option for param in main.commands[command].params for option in param.opts}
    for word in WORDS:
        option = f"--{word.replace('_', '-')}"
        if option not in known and f"-{word}" not in known:
            result = CliRunner().invoke(main, [command, "in.csv", option, "3"])
            assert result.exit_code == 2
            assert re.search(rf"No such option '?{option}'?\. Did you mean '(--|dfmst[ .])", result.stderr), word


def test_former_names_work_and_name_the_new_ones(tmp_path: Path) -> None:
    assert all(f"`{old}`" in NAMES and f"`{new}`" in NAMES for old, new in FORMER.items())
    people = str(tmp_path / "people.csv")
    pd.DataFrame({"email": ["a", "b"], "phone": [1, 1]}).to_csv(people, index=False)
    calls = {
        ("dedupe", "-kemail", "--key=phone"): ("linked-rows", "--on", "email", "--on", "phone"),
        ("neighbors", "--column", "phone", "--id", "email"): ("knn-edges", "--columns", "phone", "--ids", "email"),
        ("clusters", "-s", "email", "-t", "phone", "--unweighted", "--clusters", "2"): (
            *("clusters", "-s", "email", "-t", "phone", "--unweighted", "--n-clusters", "2"),
        ),
    }
    for former, new in calls.items():
        old, result = (CliRunner().invoke(main, [words[0], people, *words[1:]]) for words in (former, new))
        assert (old.exit_code, old.stdout) == (result.exit_code, result.stdout) == (0, result.stdout)
        assert "is now named" not in result.stderr
        for word in former:
            if (word.startswith("-") or word == former[0]) and word.partition("=")[0] not in new and word != "-kemail":
                assert f"Note: {word.partition('=')[0]} is now named" in old.stderr
    towns = pd.DataFrame({"x": [0, 1, 2], "y": 0, "town": [0, 1, 2]})
    with pytest.warns(FutureWarning, match=r"report\(id=\) is now named ids="):
        assert "<svg" in dfmst.report(ROADS, points=towns, id="town", coordinates=("x", "y")).html


def test_an_option_of_another_kind_of_data_is_refused_with_the_reason() -> None:
    with pytest.raises(TypeError, match=r"takes no memory_limit= for a frame in memory: .* call dfmst.stream"):
        dfmst.minimum_spanning_forest(ROADS, memory_limit="2GiB")
    with pytest.raises(TypeError, match=r"takes no strategy= for a stream"):
        dfmst.stream.minimum_spanning_forest([pa.table(ROADS)], strategy="merge")
    with pytest.raises(TypeError, match=r"takes no threads= for a Dask frame: a task takes"):
        dfmst.dask.minimum_spanning_forest(ROADS, threads=2)


#: Command -> its function, if that has another name.
NAMES = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8").partition("## Names")[2]
FUNCTIONS = {
    command: function
    for function, _, command in re.findall(r"^\| `(\w+)` \| `(\w+)` \| `(\w+)` \|$", NAMES, re.MULTILINE)
}


@pytest.mark.parametrize("command", [name for name in main.commands if name not in ("convert", "demo")])
def test_options_of_a_command_have_the_defaults_of_its_function(command: str) -> None:
    parameters = inspect.signature(getattr(dfmst, FUNCTIONS.get(command, command.replace("-", "_")))).parameters
    for option in main.commands[command].params:
        own = parameters.get(option.name or "")
        if own is not None and isinstance(option.default, (str, int, float)) and option.name != "keep":
            assert option.default == own.default
