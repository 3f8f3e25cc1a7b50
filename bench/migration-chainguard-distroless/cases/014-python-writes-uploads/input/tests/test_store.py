def test_the_store_imports(monkeypatch):
    monkeypatch.setenv("UPLOADS", "/tmp")
    import store

    assert store.UPLOADS == "/tmp"
