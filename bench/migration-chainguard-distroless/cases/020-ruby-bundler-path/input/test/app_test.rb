require "minitest/autorun"

class AppTest < Minitest::Test
  def test_the_service_starts_bundler_first
    assert_equal "require \"bundler/setup\"", File.readlines("app.rb", chomp: true).first
  end
end
