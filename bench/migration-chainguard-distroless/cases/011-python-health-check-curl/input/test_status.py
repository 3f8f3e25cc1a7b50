from status import Handler


def test_answers_get():
    assert callable(Handler.do_GET)
