from fetcher.client import retries


def test_retries_are_bounded():
    assert retries(9) == 5


def test_retries_are_kept():
    assert retries(2) == 2
