module git.example.com/time/clock

go 1.22
