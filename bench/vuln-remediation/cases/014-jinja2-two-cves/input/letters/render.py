from jinja2 import Environment

ENVIRONMENT = Environment(autoescape=True)
LETTER = ENVIRONMENT.from_string("<p{{ attributes|xmlattr }}>Dear {{ name }},</p>")


def render(name, attributes=None):
    return LETTER.render(name=name, attributes=attributes or {})
