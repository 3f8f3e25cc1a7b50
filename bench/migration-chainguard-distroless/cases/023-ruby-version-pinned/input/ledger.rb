require "bigdecimal"

puts BigDecimal("1.10") + BigDecimal("2.20")
