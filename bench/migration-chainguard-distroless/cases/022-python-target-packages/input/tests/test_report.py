from pathlib import Path


def test_the_report_reads_its_days_from_the_environment():
    assert "REPORT_DAYS" in Path("report.py").read_text()
