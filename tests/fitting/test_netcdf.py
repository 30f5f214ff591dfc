"""Draws for other tools: the layout always, the file where the optional extra is installed."""

import sys

import numpy as np
import pytest

from metacog_pipeline.errors import MetacogError
from metacog_pipeline.fitting.netcdf import layout, write_netcdf
from metacog_pipeline.stats.bayes.single import bayes_metad
from metacog_pipeline.stats.counts import counts

CLASSIC = counts([36, 24, 17, 20, 10, 12, 9, 2], [1, 4, 10, 11, 19, 18, 28, 39])


@pytest.fixture(scope="module")
def posterior():
    return bayes_metad(CLASSIC, seed=1, label="classic")


def test_the_layout_holds_every_parameter_with_its_axes(posterior):
    parts = layout(posterior)
    assert parts["posterior"]["d1"].shape == (64, 500)
    assert parts["posterior"]["t2c_rs2"].shape == (64, 500, 3)
    assert parts["dims"] == {"t2c_rs1": ["criterion"], "t2c_rs2": ["criterion"]}
    assert parts["coords"]["criterion"].tolist() == [1, 2, 3]
    assert parts["attrs"]["label"] == "classic" and parts["attrs"]["seed"] == 1


def test_a_posterior_without_numbers_writes_nothing(tmp_path):
    failed = bayes_metad(CLASSIC, seed=1, label="short", draws=4, warmup=0, rounds=1)
    with pytest.raises(MetacogError, match="of short has no draws to write: not_converged"):
        write_netcdf(failed, tmp_path / "draws.nc")
    assert not list(tmp_path.iterdir())


def test_without_the_extra_the_error_says_what_to_install(posterior, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5netcdf", None)
    with pytest.raises(MetacogError, match=r"metacog-pipeline\[bayes\]"):
        write_netcdf(posterior, tmp_path / "draws.nc")
    assert not list(tmp_path.iterdir())


def test_the_file_gives_back_the_draws(posterior, tmp_path):
    pytest.importorskip("h5netcdf", reason="the extra bayes is not installed")
    xarray = pytest.importorskip("xarray", reason="the extra bayes is not installed")
    write_netcdf(posterior, tmp_path / "draws.nc")
    with xarray.open_dataset(tmp_path / "draws.nc", group="posterior", engine="h5netcdf") as read:
        assert np.array_equal(read["m_ratio"].values, posterior.draws["m_ratio"])
        assert read["t2c_rs1"].dims == ("chain", "draw", "criterion")
        assert read.attrs["label"] == "classic"
    assert [path.name for path in tmp_path.iterdir()] == ["draws.nc"]


def test_a_folder_that_cannot_be_made_is_an_error_of_one_line(posterior, tmp_path):
    pytest.importorskip("h5netcdf", reason="the extra bayes is not installed")
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(MetacogError, match="cannot write"):
        write_netcdf(posterior, tmp_path / "file" / "draws.nc")
