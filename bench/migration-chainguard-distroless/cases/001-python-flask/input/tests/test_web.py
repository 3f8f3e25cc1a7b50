from greeter.web import create_app


def test_greets_by_name():
    client = create_app("Hi").test_client()
    assert client.get("/hello/ada").get_json() == {"message": "Hi, ada!"}


def test_unknown_path_is_not_found():
    assert create_app("Hi").test_client().get("/").status_code == 404
