from pathlib import Path

import scale_plan

_PAGE = Path(__file__).parents[2] / "docs" / "devices.md"


def test_the_page_has_the_table_that_is_computed(capsys):
    scale_plan.main()
    rows = capsys.readouterr().out.splitlines()[-len(scale_plan.MACHINES) :]
    page = _PAGE.read_text(encoding="utf-8")
    for row in rows:
        assert row.startswith("| ") and row in page
