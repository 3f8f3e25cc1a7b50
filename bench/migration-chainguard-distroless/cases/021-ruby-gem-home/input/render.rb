require "mustache"

puts Mustache.render(File.read(File.join(__dir__, "letter.mustache")), name: ENV.fetch("NAME", "reader"))
