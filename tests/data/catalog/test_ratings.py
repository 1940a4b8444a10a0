from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import datasets
import pyarrow
import pyarrow.parquet
import pytest

from learnedgec.data.catalog import Rating, load_ratings, read_ratings
from learnedgec.errors import DataError, FormatError, InputError


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def test_csv_has_a_column_per_dimension_and_groups_by_source(tmp_path: Path) -> None:
    file = write(
        tmp_path / "mine.csv",
        "source,hypothesis,grammaticality,fluency,system\r\n"
        'A b .,"A, b .",3.5,2,one\r\nA b .,,1,,two\r\n',
    )
    assert read_ratings(file) == [
        Rating("A b .", "A, b .", {"grammaticality": 3.5, "fluency": 2.0}, "one", "A b ."),
        Rating("A b .", "", {"grammaticality": 1.0}, "two", "A b ."),
    ]


def test_tsv_without_source_groups_by_hypothesis(tmp_path: Path) -> None:
    file = write(tmp_path / "mine.tsv", "hypothesis\tscore\nC d .\t0\n")
    assert load_ratings(str(file)) == [Rating("", "C d .", {"score": 0.0}, group="C d .")]


def test_jsonl(tmp_path: Path) -> None:
    file = write(
        tmp_path / "mine.jsonl",
        '{"hypothesis": "C .", "source": "D .", "group": "g", "fluency": 4}\n',
    )
    assert read_ratings(file) == [Rating("D .", "C .", {"fluency": 4.0}, group="g")]


RECORDS = {"source": ["A .", "B ."], "hypothesis": ["A !", "B !"], "fluency": [4.0, None]}


def test_parquet(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table(RECORDS), tmp_path / "mine.parquet")
    expected = [Rating("A .", "A !", {"fluency": 4.0}, group="A .")]
    assert load_ratings(str(tmp_path / "mine.parquet")) == expected
    (tmp_path / "other.parquet").write_text("no table")
    with pytest.raises(FormatError, match="not a Parquet file"):
        load_ratings(str(tmp_path / "other.parquet"))
    pyarrow.parquet.write_table(pyarrow.table({"fluency": [1.0]}), tmp_path / "none.parquet")
    with pytest.raises(FormatError, match="no column 'hypothesis'; found fluency"):
        load_ratings(str(tmp_path / "none.parquet"))


def test_a_dataset_of_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str, split: str) -> datasets.Dataset:
        if split != "train":
            raise ValueError(f"Unknown split {split!r}.\nMore.")
        return datasets.Dataset.from_dict(RECORDS)

    monkeypatch.setattr(datasets, "load_dataset", load)
    assert load_ratings("hf:me/mine") == [Rating("A .", "A !", {"fluency": 4.0}, group="A .")]
    with pytest.raises(
        DataError, match=r"^hf:me/mine:dev cannot be read .*\(Unknown split 'dev'.\)"
    ):
        load_ratings("hf:me/mine:dev")


def test_a_row_of_empty_cells_has_no_rating(tmp_path: Path) -> None:
    text = "source,hypothesis,fluency,meaning\nA,B,,\nA,C,2,\n"
    assert read_ratings(write(tmp_path / "a.csv", text)) == [
        Rating("A", "C", {"fluency": 2.0}, group="A")
    ]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "source,fluency\nA,1\n", "a.csv:1: no column 'hypothesis'"),
        ("a.csv", "hypothesis,fluency\nA,1\nB,good\n", "a.csv:3: the column 'fluency'"),
        ("a.csv", "hypothesis,fluency\nA,nan\n", "a.csv:2: the column 'fluency'"),
        ("a.csv", "hypothesis,fluency\nA,1,2\n", "a.csv:2: 2 columns"),
        ("a.csv", 'hypothesis,fluency\n"' + "A" * 140_000 + "\n", "not a table"),
        ("a.csv", "hypothesis,fluency\nA\n", "a.csv:2: 2 columns"),
        ("a.csv", "hypothesis\nA\n", "a.csv:2: no rating"),
        ("a.csv", "hypothesis,fluency\nA,\n", "a.csv: no row has a rating"),
        ("a.jsonl", '{"fluency": 1}\n', "a.jsonl:1: the key 'hypothesis'"),
        ("a.jsonl", '{"hypothesis": 3, "fluency": 1}\n', "a.jsonl:1: 'hypothesis' must be a text"),
        ("a.csv", 'hypothesis,fluency\n"A\nB",1\n', "a.csv:3: 'hypothesis' must be one line"),
        (
            "a.jsonl",
            '{"hypothesis": "A", "source": "B\\nC", "fluency": 1}\n',
            "a.jsonl:1: 'source' must be",
        ),
        ("a.jsonl", '{"hypothesis": "A", "fluency": ' + "9" * 400 + "}\n", "a.jsonl:1: the column"),
        ("a.jsonl", '{"hypothesis": "A", "fluency": [1]}\n', "a.jsonl:1: the column 'fluency'"),
    ],
)
def test_bad_file_names_the_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_ratings(write(tmp_path / name, text))
    assert message in str(caught.value)


def test_folder_reads_the_rated_lines(tmp_path: Path) -> None:
    write(tmp_path / "source.txt", "A .\nB .\n")
    write(tmp_path / "systems/x.txt", "A !\nB !\n")
    write(tmp_path / "ratings.csv", "id,system,meaning\n1,x,3\n0,source,4\n")
    assert read_ratings(tmp_path) == [
        Rating("B .", "B !", {"meaning": 3.0}, "x", "B ."),
        Rating("A .", "A .", {"meaning": 4.0}, "source", "A ."),
    ]


@pytest.mark.parametrize("row", ["2,x,3", "-1,x,3", "one,x,3", "0,y,3"])
def test_folder_with_a_row_that_points_nowhere(tmp_path: Path, row: str) -> None:
    write(tmp_path / "source.txt", "A .\nB .\n")
    write(tmp_path / "systems/x.txt", "A !\nB !\n")
    with pytest.raises(InputError):
        read_ratings(write(tmp_path / "ratings.csv", f"id,system,meaning\n{row}\n").parent)


def test_tmu_gfm_keeps_each_rater(put_dataset: Callable[[str, dict[str, str]], None]) -> None:
    put_dataset(
        "tmu-gfm",
        {
            "tmu-gfm-dataset.csv": "source,output,grammer,fluency,meaning,system,ave_g,ave_f,ave_m\n"
            'S b .,"S, b .","3,4","2,2","0,4","lstm,cnn",3.5,2.0,4.0\n'
        },
    )
    assert load_ratings("tmu-gfm") == [
        Rating(
            "S b .",
            "S, b .",
            {"grammaticality": 3.5, "fluency": 2.0, "meaning": 4.0},
            "lstm,cnn",
            "S b .",
            {"grammaticality": (3.0, 4.0), "fluency": (2.0, 2.0), "meaning": (0.0, 4.0)},
        )
    ]


def test_gug_splits(put_dataset: Callable[[str, dict[str, str]], None]) -> None:
    put_dataset(
        "gug",
        {
            "gug_annotations.tsv": "Id\tSentence\tExpert Judgement\tCrowd Flower Judgements\tAverage"
            '\tDataset\r\n1\t"A ""b"" c."\t3\t[3, 4]\t3.33\ttrain\r\n'
            "2\tD.\t0\t[0]\t0\tnone\r\n3\tE.\t1\t[1, 1]\t1.0\ttest\r\n"
        },
    )
    train = Rating(
        "",
        'A "b" c.',
        {"grammaticality": 3.33},
        "",
        'A "b" c.',
        {"grammaticality": (3.0, 3.0, 4.0)},
    )
    test = Rating("", "E.", {"grammaticality": 1.0}, "", "E.", {"grammaticality": (1.0, 1.0, 1.0)})
    assert load_ratings("gug:train") == [train]
    assert load_ratings("gug:dev") == []
    assert load_ratings("gug") == [train, test]


def test_sts_leaves_out_what_has_no_score(
    put_dataset: Callable[[str, dict[str, str]], None],
) -> None:
    rows = '4.5\t"A" b.\tC.\n\tD.\tE.\n'
    put_dataset("sts", {"data/sts/semeval-sts/2012/MSRpar.train.tsv": rows})
    assert load_ratings("sts:2012/MSRpar.train") == [
        Rating('"A" b.', "C.", {"meaning": 4.5}, "2012/MSRpar.train", '"A" b.')
    ]


def test_lau_has_a_group_of_the_same_sentence_in_each_context(
    put_dataset: Callable[[str, dict[str, str]], None],
) -> None:
    head = "ID,translated,source-language,sentence,context,full-ratings,mean-ratings\n"
    put_dataset(
        "lau",
        {
            f"human-ratings/context-{part}-ratings.csv": f'{head}1,0,en,"a, b",x,"4,{rating}",{mean}\n'
            for part, rating, mean in (("none", 2, 3.0), ("random", 4, 4.0), ("real", 1, 2.5))
        },
    )
    none = Rating("", "a, b", {"fluency": 3.0}, "", "a, b", {"fluency": (4.0, 2.0)})
    assert load_ratings("lau:none") == [none]
    assert [rating.values["fluency"] for rating in load_ratings("lau")] == [3.0, 4.0, 2.5]
    assert {rating.group for rating in load_ratings("lau")} == {"a, b"}


def test_cola_has_no_quotes(put_dataset: Callable[[str, dict[str, str]], None]) -> None:
    folder = "acceptability_corpus/cola_public/raw"
    put_dataset(
        "cola", {f"{folder}/in_domain_dev.tsv": 'b_82\t0\t*\t"He go.\nb_82\t1\t\tHe went.\n'}
    )
    assert load_ratings("cola:dev") == [
        Rating("", text, {"fluency": value}, "", text)
        for text, value in (('"He go.', 0.0), ("He went.", 1.0))
    ]


@pytest.mark.realdata
@pytest.mark.usefixtures("mirror")
@pytest.mark.parametrize(
    ("name", "count", "groups", "means"),
    [
        (
            "tmu-gfm",
            4221,
            1378,
            {"grammaticality": 3.197939, "fluency": 3.088415, "meaning": 3.445080},
        ),
        ("gug:train", 1518, 1518, {"grammaticality": 2.999780}),
        ("gug:dev", 747, 747, {"grammaticality": 3.075413}),
        ("gug:test", 754, 754, {"grammaticality": 3.052608}),
        ("gug", 3019, 3019, {"grammaticality": 3.031688}),
        ("sts:2012/MSRpar.train", 750, 750, {"meaning": 3.322064}),
        ("sts", 13278, 10799, {"meaning": 2.933725}),
        ("lau:none", 250, 250, {"fluency": 2.775233}),
        ("lau", 750, 250, {"fluency": 2.809701}),
        ("cola:train", 8551, 8532, {"fluency": 0.704362}),
        ("cola:dev", 527, 527, {"fluency": 0.692600}),
        ("cola", 9594, 9553, {"fluency": 0.702731}),
    ],
)
def test_real_ratings(name: str, count: int, groups: int, means: dict[str, float]) -> None:
    ratings = load_ratings(name)
    assert len(ratings) == count
    assert len({rating.group for rating in ratings}) == groups
    found = {key: sum(rating.values[key] for rating in ratings) / count for key in means}
    assert found == pytest.approx(means, abs=1e-6)
