def total(connection):
    with connection.cursor() as cursor:
        cursor.execute("select coalesce(sum(cents), 0) from entry")
        return cursor.fetchone()[0]
