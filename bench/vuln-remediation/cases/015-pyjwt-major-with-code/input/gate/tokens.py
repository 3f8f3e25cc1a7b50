import jwt
from jwt.algorithms import get_default_algorithms


def issue(user_id, secret):
    return jwt.encode({"sub": user_id}, secret, algorithm="HS256").decode("ascii")


def subject(token, secret):
    claims = jwt.decode(token, secret, algorithms=get_default_algorithms())
    return claims["sub"]
