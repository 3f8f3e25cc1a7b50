from shop.reports import columns, total


class Rows:
    def values(self, *names):
        return [{name: index for index, name in enumerate(names)}]


def test_columns_are_those_asked_for():
    assert columns(Rows(), ["a", "b"]) == [{"a": 0, "b": 1}]


def test_a_total_is_the_sum_of_a_column():
    assert total([{"x": 2}, {"x": 3}], "x") == 5
