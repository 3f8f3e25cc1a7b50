import requests


def is_up(url, get=requests.get):
    try:
        return get(url, timeout=5).status_code < 500
    except requests.RequestException:
        return False
