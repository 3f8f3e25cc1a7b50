import jwt
import pytest

from gate.tokens import issue, subject


def test_a_token_carries_its_subject():
    assert subject(issue("u1", "secret"), "secret") == "u1"


def test_another_secret_is_refused():
    with pytest.raises(jwt.InvalidTokenError):
        subject(issue("u1", "secret"), "other")
