from shortener.web import app


def test_an_unknown_name_is_not_found():
    assert app.test_client().get("/nothing").status_code == 404
