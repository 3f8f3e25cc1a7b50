#!/bin/sh
# Runs an agent in a container, for `[sut] command`. docs/agents.md, "In a container", says what that promises and what not.
#
#   container.sh [--engine <client>] [--grace <seconds>] [<option of run>...] -- <image> <command>...
#
# The container sees the workspace, at the same path as outside, and a folder for the cost and for who answered: never the bench.
# Options before `--` that are not named above are handed to `run`. The image needs sh, cat and sleep.
#
# A client that is killed leaves its container running, and eval-host kills with SIGKILL, which no trap sees. So this script writes
# a heartbeat into the shared folder, and the container ends itself when that stops for <seconds> (20 unless told otherwise).
set -eu

engine=docker
grace=20
while :; do
  case ${1-} in
    --engine) engine=$2 && shift 2 ;;
    --grace) grace=$2 && shift 2 ;;
    *) break ;;
  esac
done

# What runs in the container: a watcher of the heartbeat, and the agent in the place of this shell. It is the child of `--init`,
# so that its death ends the container, with all that the agent has started.
# shellcheck disable=SC2016 # It is the container's shell that expands this.
guard='
(
  while last=$(cat /eval-host/alive); sleep "$0"; [ "$(cat /eval-host/alive)" != "$last" ]; do :; done
  kill -KILL $$
) </dev/null >/dev/null 2>&1 &
exec "$@"'

# Every word is taken off the front and put back behind the others, with the guard between the image and its command.
part=options
words=$#
while [ "$words" -gt 0 ]; do
  word=$1
  shift
  words=$((words - 1))
  case $part,$word in
    options,--) part=image ;;
    image,*) part=image-alone && set -- "$@" "$word" -c "$guard" "$grace" ;;
    image-alone,*) part=whole && set -- "$@" "$word" ;;
    *) set -- "$@" "$word" ;;
  esac
done
if [ "$part" != whole ]; then
  echo "error: an image and a command are needed: container.sh [<option of run>...] -- <image> <command>..." >&2
  exit 2
fi

workspace=$(pwd -P)
shared=$(mktemp -d)
mkdir "$shared/home"
echo 0 >"$shared/alive"
name=eval-host-$(basename "$shared")

set -- --rm --init --interactive --name "$name" --entrypoint sh \
  --user "$(id -u):$(id -g)" --cap-drop ALL --security-opt no-new-privileges \
  --volume "$workspace:$workspace" --workdir "$workspace" --volume "$shared:/eval-host" \
  --env HOME=/eval-host/home --env EVAL_HOST_COST_FILE=/eval-host/cost_usd --env EVAL_HOST_AGENT_FILE=/eval-host/agent.json \
  "$@"
# Without rights, the user of a rootless container is somebody else outside of it, unless this is said.
case $(basename "$engine") in
  podman*) set -- --userns keep-id "$@" ;;
esac

exec 3<&0
"$engine" run "$@" <&3 3<&- &
client=$!
(
  beat=0
  while kill -0 $$; do
    beat=$((beat + 1))
    echo "$beat" >"$shared/alive"
    sleep 1
  done
) </dev/null >/dev/null 2>&1 3<&- &
heart=$!

end() {
  kill "$heart" 2>/dev/null || true
  rm -rf "$shared" || true
}
trap '"$engine" rm --force "$name" >/dev/null 2>&1 || true; end; exit 143' HUP INT TERM

status=0
wait "$client" || status=$?

# What the agent left in the place of a file may be a link to one that is none of its business.
keep() {
  if [ -n "$2" ] && [ -f "$shared/$1" ] && [ ! -L "$shared/$1" ]; then
    cat "$shared/$1" >"$2"
  fi
}
keep cost_usd "${EVAL_HOST_COST_FILE-}"
keep agent.json "${EVAL_HOST_AGENT_FILE-}"
end
exit "$status"
