# The program of NAME: its arguments stand in the command line, and as JSON on standard input besides. What it prints is
# its result, as JSON; what it says on standard error is told if it fails.
set -eu
words=$(wc -w < "$1")
printf '{"words": %d}\n' "$words"
