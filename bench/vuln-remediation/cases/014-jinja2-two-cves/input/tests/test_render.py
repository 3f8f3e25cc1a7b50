from letters.render import render


def test_names_are_escaped():
    assert render("<b>") == "<p>Dear &lt;b&gt;,</p>"


def test_attributes_are_written():
    assert render("A", {"class": "x"}) == '<p class="x">Dear A,</p>'
