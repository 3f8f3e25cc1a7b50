from mirror_sync.fetch import changed


class Session:
    def __init__(self, etag):
        self.etag = etag

    def head(self, url, allow_redirects, timeout):
        assert allow_redirects
        return self

    def raise_for_status(self):
        pass

    @property
    def headers(self):
        return {"ETag": self.etag}


def test_a_new_tag_is_a_change():
    assert changed("https://example.invalid/a", "1", Session("2"))


def test_the_same_tag_is_none():
    assert not changed("https://example.invalid/a", "1", Session("1"))
