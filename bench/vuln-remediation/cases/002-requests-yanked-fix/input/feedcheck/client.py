import requests


class Feed:
    """A feed that is fetched with one session."""

    def __init__(self, url, session=None):
        self.url = url
        self.session = session or requests.Session()

    def fetch(self):
        response = self.session.get(self.url, timeout=10)
        response.raise_for_status()
        return response.text


def titles(text):
    return [line[2:].strip() for line in text.splitlines() if line.startswith("# ")]
