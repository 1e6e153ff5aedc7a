module ollie/bench

go 1.23.0

require 9fans.net/go v0.0.8-0.20250307142834-96bdba94b63f
