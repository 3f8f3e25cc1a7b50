import asyncio

import aiohttp


async def fetch_all(urls, session_factory=aiohttp.ClientSession):
    async with session_factory() as session:
        return await asyncio.gather(*(fetch(session, url) for url in urls))


async def fetch(session, url):
    async with session.get(url) as response:
        return await response.text()
