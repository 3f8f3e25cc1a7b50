require "minitest/autorun"

class LedgerTest < Minitest::Test
  def test_the_ruby_of_the_auditors_is_asked_for
    assert_includes File.read("Gemfile"), "~> 3.3.0"
  end
end
