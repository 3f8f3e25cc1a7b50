import asyncio
from contextlib import asynccontextmanager

from harvester.client import fetch_all


class Session:
    @asynccontextmanager
    async def get(self, url):
        yield self

    async def text(self):
        return "body"


@asynccontextmanager
async def factory():
    yield Session()


def test_every_url_is_fetched():
    assert asyncio.run(fetch_all(["a", "b"], factory)) == ["body", "body"]
