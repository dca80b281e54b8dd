"""Runs the published MLRsearch package on simulated devices: cases as JSON on stdin, results as JSON on stdout.

The devices are those of device.rs. A test only; the package is installed by scripts/test.
"""

import json
import sys

from MLRsearch import (
    AbstractMeasurer,
    Config,
    MeasurementResult,
    MultipleLossRatioSearch,
    SearchGoal,
)


def received(device, frames, load, duration, trials):
    kind = device["kind"]
    limit = lambda rate: int(rate * duration)
    if kind == "sharp":
        return min(frames, limit(device["capacity"]))
    if kind == "buffered":
        return min(frames, limit(device["capacity"]) + device["buffer"])
    if kind == "noisy":
        chance = (trials * 6364136223846793005 + 1442695040888963407) % 2**64 >> 33
        lost = frames // device["per"] if chance % device["every"] == 0 else 0
        forwarded = min(frames, limit(device["capacity"]))
        return forwarded - min(lost, forwarded)
    if kind == "livelock":
        most = limit(device["capacity"])
        return frames if frames <= most else most * most // frames
    if kind == "inverted":
        bad = device["from"] <= load < device["to"]
        lost = frames // 100 if bad else 0
        most = limit(device["capacity"])
        return min(frames, most) - min(lost, most)
    if kind == "slow-generator":
        return min(frames, limit(device["most"]))
    if kind == "duplicating":
        return frames + frames // 100 if load >= device["from"] else frames
    if kind == "dead":
        return 0
    raise ValueError(kind)


class Measurer(AbstractMeasurer):
    def __init__(self, case):
        self.case = case
        self.trials = []

    def measure(self, intended_duration, intended_load):
        self.trials.append([intended_load, intended_duration])
        device = self.case["device"]
        frames = int(intended_load * intended_duration)
        back = received(device, frames, intended_load, intended_duration, len(self.trials))
        sent = back if device["kind"] == "slow-generator" else frames
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            intended_count=frames,
            offered_count=sent,
            forwarding_count=back,
            duration_with_overheads=intended_duration + self.case["overhead"],
        )


def search(case):
    config = Config()
    config.max_load = case["max"]
    config.min_load = case["min"]
    config.warmup_duration = case["warm_up"]
    config.search_duration_max = 60
    config.goals = [SearchGoal(**goal) for goal in case["goals"]]
    measurer = Measurer(case)
    found = MultipleLossRatioSearch(config=config).search(measurer, debug=lambda text: None)
    number = lambda load: None if load is None else float(load)
    goals = [
        {
            "lower": number(found[goal].relevant_lower_bound),
            "upper": number(found[goal].relevant_upper_bound),
            "conditional_throughput": number(found[goal].conditional_throughput),
        }
        for goal in config.goals
    ]
    return {"goals": goals, "trials": measurer.trials}


json.dump([search(case) for case in json.load(sys.stdin)], sys.stdout)
