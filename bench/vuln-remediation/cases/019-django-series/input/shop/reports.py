def columns(queryset, names):
    """The rows of a report, as dictionaries of the columns asked for."""
    return list(queryset.values(*names))


def total(rows, column):
    return sum(row[column] for row in rows)
