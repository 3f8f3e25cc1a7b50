#!/usr/bin/env python3
"""mini-swe-agent: `mini --yolo --exit-immediately --output …`.

The format is that of the documentation of mini-swe-agent 2.4 ("Output files"), `trajectory_format` `mini-swe-agent-1.1`: `info` has
`model_stats.instance_cost`, `model_stats.api_calls`, `mini_version`, `exit_status` (`Submitted`, `LimitsExceeded`, or the name of an
exception), `submission` and `config.model.model_name`. mini itself stops where it knows no price, unless it is told to ignore that
(`MSWEA_COST_TRACKING`); then a cost of 0 for calls that were made is not believed.
"""

from common import Report, dollars, read_object, serve


def work(task):
    trajectory = task.folder / "run.traj.json"
    command = ["mini", "--yolo", "--exit-immediately", "--cost-limit", task.limit(), "--output", str(trajectory)]
    # One word, because a prompt may begin with a dash.
    command += [*task.named_model(), *task.extra, f"--task={task.prompt}"]
    # The first start asks for a model and a key, and waits for somebody to type them.
    env = {"MSWEA_CONFIGURED": "true", "MSWEA_GLOBAL_CONFIG_DIR": str(task.folder / "config")}
    ended = task.run(command, env=env)
    info = read_object(trajectory).get("info", {})
    report = Report(
        cost_usd=cost(task, info.get("model_stats", {})),
        model=info.get("config", {}).get("model", {}).get("model_name"),
        version=info.get("mini_version"),
        answer=info.get("submission"),
        problem=problem(info.get("exit_status")),
    )
    return ended, report


def cost(task, stats):
    spent = dollars(stats.get("instance_cost"))
    if spent != 0 or not stats.get("api_calls") or task.prices.get(task.model) == [0, 0, 0]:
        return spent
    # mini does not say how many tokens it used, so that no price helps but none.
    task.hint = "tell litellm the price (LITELLM_MODEL_REGISTRY_PATH), or say that there is none: --price <model>=0,0,0"
    return None


def problem(status):
    return None if status == "Submitted" else f"mini: {status or 'there is no trajectory'}"


if __name__ == "__main__":
    serve("mini-swe-agent", work)
