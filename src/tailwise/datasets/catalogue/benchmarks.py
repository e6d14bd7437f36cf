"""The catalogue of benchmarks: size, propensity model and source of each data set."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from tailwise.errors import InputError

REPOSITORY = "http://manikvarma.org/downloads/XC/XMLRepository.html"
# The address of a file on Google Drive, followed by its identifier; `confirm` skips the warning about large files.
DRIVE = "https://drive.usercontent.google.com/download?export=download&confirm=t&id="
LICENCE = (
    "no licence is stated with the data; cite the Extreme Classification Repository and the original source, "
    "and ask their authors before any use beyond research"
)
# Parameters a and b of the propensity model of Jain et al. 2016, as the repository recommends them.
USUAL, WIKIPEDIA, AMAZON = (0.55, 1.5), (0.5, 0.4), (0.6, 2.6)


@dataclass(frozen=True)
class DataSet:
    """Published facts about a data set.

    Attributes
    ----------
    name : str
        Its name in the Extreme Classification Repository.
    n_train, n_test, n_features, n_labels : int
        Sizes.
    points_per_label, labels_per_point : float
        Averages over the training points or over all points, as given by the repository.
    propensity : (float, float)
        a and b of the propensity model.
    url : str
        The address of its archive.
    train, test : str
        The files in the archive.
    md5 : str or None
        The checksum of the archive if published; otherwise it is recorded on the first download.
    licence, source : str
        What is known about its licence, and the page to cite.
    """

    name: str
    n_train: int
    n_test: int
    n_features: int
    n_labels: int
    points_per_label: float
    labels_per_point: float
    propensity: tuple[float, float]
    url: str
    train: str
    test: str
    md5: str | None = None
    licence: str = LICENCE
    source: str = REPOSITORY


# The first five sizes are from the table of data sets in the paper (appendix on the empirical comparison), the others
# from the table of the Extreme Classification Repository. Identifiers and file names are those used by napkinXC, which
# took them from the repository. The checksum of Eurlex-4K is from a set-up script on GitHub that verifies it.
CATALOGUE = (
    DataSet(
        "Eurlex-4K",
        *(15_539, 3_809, 5_000, 3_993, 25.73, 5.31, USUAL),
        url=DRIVE + "0B3lPMIHmG6vGU0VTR1pCejFpWjg",
        train="Eurlex/eurlex_train.txt",
        test="Eurlex/eurlex_test.txt",
        md5="ec8feb2a9a0bd0f32d8f4c2b00725524",
    ),
    DataSet(
        "Wiki10-31K",
        *(14_146, 6_616, 101_938, 30_938, 8.52, 18.64, USUAL),
        url=DRIVE + "0B3lPMIHmG6vGaDdOeGliWF9EOTA",
        train="Wiki10/wiki10_train.txt",
        test="Wiki10/wiki10_test.txt",
    ),
    DataSet(
        "AmazonCat-13K",
        *(1_186_239, 306_782, 203_882, 13_330, 448.57, 5.04, USUAL),
        url=DRIVE + "0B3lPMIHmG6vGa2tMbVJGdDNSMGc",
        train="AmazonCat/amazonCat_train.txt",
        test="AmazonCat/amazonCat_test.txt",
    ),
    DataSet(
        "WikipediaLarge-500K",
        *(1_813_391, 783_743, 2_381_304, 501_070, 24.75, 4.77, WIKIPEDIA),
        url=DRIVE + "0B3lPMIHmG6vGRmEzVDVkNjBMR3c",
        train="WikipediaLarge-500K/WikipediaLarge-500K_train.txt",
        test="WikipediaLarge-500K/WikipediaLarge-500K_test.txt",
    ),
    DataSet(
        "Amazon-670K",
        *(490_449, 153_025, 135_909, 670_091, 3.99, 5.45, AMAZON),
        url=DRIVE + "0B3lPMIHmG6vGdUJwRzltS1dvUVk",
        train="Amazon/amazon_train.txt",
        test="Amazon/amazon_test.txt",
    ),
    DataSet(
        "Delicious-200K",
        *(196_606, 100_095, 782_585, 205_443, 72.29, 75.54, USUAL),
        url=DRIVE + "0B3lPMIHmG6vGR3lBWWYyVlhDLWM",
        train="DeliciousLarge/deliciousLarge_train.txt",
        test="DeliciousLarge/deliciousLarge_test.txt",
    ),
    DataSet(
        "WikiLSHTC-325K",
        *(1_778_351, 587_084, 1_617_899, 325_056, 17.46, 3.19, WIKIPEDIA),
        url=DRIVE + "0B3lPMIHmG6vGSHE1SWx4TVRva3c",
        train="WikiLSHTC/wikiLSHTC_train.txt",
        test="WikiLSHTC/wikiLSHTC_test.txt",
    ),
    DataSet(
        "Amazon-3M",
        *(1_717_899, 742_507, 337_067, 2_812_281, 31.64, 36.17, AMAZON),
        url=DRIVE + "0B3lPMIHmG6vGUEd4eTRxaWl3YkE",
        train="Amazon-3M/amazon-3M_train.txt",
        test="Amazon-3M/amazon-3M_test.txt",
    ),
)


def find_data_set(name: str) -> DataSet:
    """Find a data set by name, ignoring case.

    Examples
    --------
    >>> from tailwise.datasets import find_data_set
    >>> find_data_set("eurlex-4k").n_labels
    3993
    """
    by_name = {each.name.lower(): each for each in CATALOGUE}
    if name.lower() in by_name:
        return by_name[name.lower()]
    nearest = difflib.get_close_matches(name.lower(), by_name, n=1)
    names = ", ".join(each.name for each in CATALOGUE)
    remedy = f"Did you mean {by_name[nearest[0]].name}?" if nearest else f"Choose one of {names}."
    msg = f"name must be a data set of the catalogue. Got {name!r}. {remedy}"
    raise InputError(msg)


def find_data_set_of_size(n_train: int, n_test: int, n_labels: int) -> DataSet | None:
    """Find a data set by its sizes, to compare results with published figures; None if no data set matches."""
    sizes = (n_train, n_test, n_labels)
    return next((each for each in CATALOGUE if (each.n_train, each.n_test, each.n_labels) == sizes), None)
