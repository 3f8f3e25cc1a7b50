from ledger.book import total


def test_total_is_callable():
    assert callable(total)
