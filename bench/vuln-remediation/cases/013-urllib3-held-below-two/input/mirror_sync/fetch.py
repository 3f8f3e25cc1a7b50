import requests


def changed(url, etag, session=None):
    """Whether the file behind the URL differs from the one that had this tag."""
    session = session or requests.Session()
    response = session.head(url, allow_redirects=True, timeout=30)
    response.raise_for_status()
    return response.headers.get("ETag") != etag
