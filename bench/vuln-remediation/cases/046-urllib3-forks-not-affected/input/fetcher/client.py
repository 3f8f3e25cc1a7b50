import urllib3


def retries(wanted):
    return min(wanted, 5)


def pool():
    return urllib3.PoolManager(retries=retries(3))
