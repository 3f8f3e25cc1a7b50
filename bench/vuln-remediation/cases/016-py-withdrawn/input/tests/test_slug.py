from slug import slug


def test_a_title_becomes_a_slug():
    assert slug("Hello, World!") == "hello-world"
