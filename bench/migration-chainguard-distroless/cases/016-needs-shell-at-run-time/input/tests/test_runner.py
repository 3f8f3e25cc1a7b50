import runner


def test_hooks_are_sorted():
    assert [h.name for h in sorted(runner.HOOKS.glob("*.sh"))] == ["10-sync.sh"]
