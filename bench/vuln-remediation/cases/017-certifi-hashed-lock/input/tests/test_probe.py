import requests

from statuspage.probe import is_up


class Answer:
    def __init__(self, status_code):
        self.status_code = status_code


def test_a_server_error_is_down():
    assert not is_up("https://example.invalid", lambda url, timeout: Answer(503))


def test_no_answer_is_down():
    def refuse(url, timeout):
        raise requests.ConnectionError

    assert not is_up("https://example.invalid", refuse)
