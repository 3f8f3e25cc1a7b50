require "minitest/autorun"

class RenderTest < Minitest::Test
  def test_the_letter_has_a_name
    assert_includes File.read("letter.mustache"), "{{name}}"
  end
end
