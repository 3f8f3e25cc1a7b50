"""Prints the days that a report covers."""

import os

from tabulate import tabulate

print(tabulate([["days", os.environ["REPORT_DAYS"]]]))
