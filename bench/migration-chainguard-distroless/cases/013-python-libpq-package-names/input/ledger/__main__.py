import os

import psycopg2

from ledger.book import total

with psycopg2.connect(os.environ["DATABASE_URL"]) as connection:
    print(total(connection))
