require "bundler/setup"
require "webrick"

server = WEBrick::HTTPServer.new(Port: 4567)
server.mount_proc("/") { |_request, response| response.body = "high water at noon\n" }
trap("TERM") { server.shutdown }
server.start
