from feedcheck.client import Feed, titles


class FakeResponse:
    text = "# One\nbody\n# Two\n"

    def raise_for_status(self):
        pass


class FakeSession:
    def get(self, url, timeout):
        assert timeout == 10
        return FakeResponse()


def test_titles_are_the_lines_with_a_hash():
    assert titles(FakeResponse.text) == ["One", "Two"]


def test_a_feed_is_fetched_with_its_session():
    assert Feed("https://example.invalid/feed", FakeSession()).fetch() == FakeResponse.text
