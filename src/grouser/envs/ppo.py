"""Proximal policy optimisation (Schulman et al. 2017, arXiv:1707.06347) in one small loop with torch.

The environment's tensors stay on its device. The host reads once per update, for the learning curve.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from grouser.envs.policy import CLIP, Policy
from grouser.envs.task import TOTALS

LEARNING_RATES = 1e-5, 3e-3  # bounds between which the learning rate of the actor is adapted
CRITIC_RATE = 1e-3
LEAST_VARIANCE = 1e-4  # of an observed value
STEP_OF_RATE = 1.5  # factor by which the learning rate is adapted


@dataclass(frozen=True)
class Options:
    """Numbers of the method. The learning rate follows the change of the policy (`change`, in nats), as in rsl_rl.

    A policy that has changed by twice as much waits for new experience.
    """

    deviation: float = 0.5  # of actions before training
    horizon: int = 16  # control periods between two updates
    hidden: tuple[int, ...] = (128, 128)
    learning_rate: float = 1e-3
    discount: float = 0.99
    trace: float = 0.95  # lambda of generalised advantage estimation, Schulman et al. 2016, arXiv:1506.02438
    clip: float = 0.2
    epochs: int = 6
    minibatches: int = 8
    entropy: float = 2e-3
    change: float = 0.012
    largest_gradient: float = 1.0


def after_imitation(horizon: int) -> Options:
    """Options to improve a policy that can drive: smaller changes of the actions, no reward for random ones."""
    return Options(horizon=horizon, deviation=0.3, learning_rate=2e-4, entropy=0.0, change=0.01, epochs=6)


class Scales:
    """Running mean and mean square of observations."""

    def __init__(self, size: int, device: str):
        import torch  # pyright: ignore[reportMissingImports] an optional package

        self.mean, self._square, self._seen = torch.zeros(size, device=device), torch.ones(size, device=device), 1.0

    @property
    def deviation(self) -> Any:
        import torch  # pyright: ignore[reportMissingImports] an optional package

        return torch.sqrt(torch.clamp(self._square - self.mean**2, min=LEAST_VARIANCE))

    def __call__(self, observed: Any) -> Any:
        return ((observed - self.mean) / self.deviation).clamp(-CLIP, CLIP)

    def take(self, observed: Any) -> None:
        """Take observations, (…, value), into the means."""
        flat = observed.flatten(0, -2)
        share = len(flat) / (self._seen + len(flat))
        self.mean = (1 - share) * self.mean + share * flat.mean(0)
        self._square = (1 - share) * self._square + share * (flat**2).mean(0)
        self._seen += len(flat)


class Learner:
    """Actor, critic and scales of the observations, on the device of the environment.

    If the environment shows what only a simulator has, the critic sees it as well: it is not needed to act (Pinto et
    al. 2017, arXiv:1710.06542).
    """

    def __init__(self, env: Any, options: Options, seed: int, device: str):
        import torch  # pyright: ignore[reportMissingImports] an optional package

        torch.manual_seed(seed)
        if device == "cpu":
            torch.set_num_threads(1)  # the networks are small: threads would cost more than they save
        self.env, self.options, self.device = env, options, device
        self.names = tuple(env.observation_names["robot"])
        inputs, outputs = len(self.names), env.single_action_space.shape[0]
        everything = sum(len(names) for names in env.observation_names.values())
        self.actor = _network(inputs, options.hidden, outputs, last=0.01).to(device)
        self.critic = _network(everything, options.hidden, 1, last=1.0).to(device)
        first = float(np.log(options.deviation))
        self.log_deviation = torch.full((outputs,), first, device=device, requires_grad=True)
        self._actor_steps = torch.optim.Adam([*self.actor.parameters(), self.log_deviation], lr=options.learning_rate)
        self._critic_steps = torch.optim.Adam(self.critic.parameters(), lr=CRITIC_RATE)
        self.scaled, self.scaled_all = Scales(inputs, device), Scales(everything, device)
        self.scales_move = True
        self.observed = self._parts(env.reset(seed=seed)[0])

    # ---- one update -----------------------------------------------------------------------------------

    def update(self) -> dict[str, float]:
        """Collect experience and improve the policy. Returns means over the episodes that ended."""
        batch, ended = self.collect(self.options.horizon, self._choice)
        self._improve(batch)
        if self.scales_move:
            self.take_scales(batch)
        return ended

    def _choice(self, robot: Any) -> Any:
        return self.distribution(self.actor(self.scaled(robot)))

    def distribution(self, mean: Any) -> Any:
        """Of actions round their mean."""
        import torch  # pyright: ignore[reportMissingImports] an optional package

        return torch.distributions.Normal(mean, self.log_deviation.exp(), validate_args=False)

    def _parts(self, observed: Any) -> tuple[Any, Any]:
        """What the robot has, and everything: copies, as the environment overwrites what it returned."""
        import torch  # pyright: ignore[reportMissingImports] an optional package

        if not isinstance(observed, dict):
            robot = torch.as_tensor(observed, device=self.device).clone()
            return robot, robot
        robot, more = (torch.as_tensor(observed[part], device=self.device) for part in ("robot", "simulator"))
        return robot.clone(), torch.cat([robot, more], dim=1)

    def collect(self, periods: int, choose: Callable[[Any], Any]) -> tuple[dict[str, Any], dict[str, float]]:
        """Experience, (period, world, …), of all worlds; `choose` makes the distribution of actions of what robots see.

        The second value has means over the episodes that ended meanwhile, of which short ones are too many.
        """
        import torch  # pyright: ignore[reportMissingImports] an optional package

        kept: dict[str, list[Any]] = {}
        sums, count = torch.zeros(len(TOTALS) + 1, device=self.device), torch.zeros((), device=self.device)
        with torch.no_grad():
            for _ in range(periods):
                robot, everything = self.observed
                choice = choose(robot)
                action = choice.sample()
                observed, reward, terminated, truncated, info = self.env.step(_for_env(action))
                reward, terminated, truncated = (_tensor(one, self.device) for one in (reward, terminated, truncated))
                ends = terminated | truncated
                rest = torch.zeros_like(reward)
                if info:
                    # A truncated episode would have gone on: the critic says what the rest would have earned.
                    rest = self.critic(self.scaled_all(self._parts(info["final_obs"])[1]))[:, 0] * truncated
                    totals = [_tensor(info["final_info"][name], self.device).float() for name in (*TOTALS, "length")]
                    sums += torch.where(ends[:, None], torch.stack(totals, dim=1), 0.0).sum(0)
                    count += ends.sum()
                for name, one in (("robot", robot), ("all", everything), ("wanted", choice.mean), ("action", action),
                                  ("chance", choice.log_prob(action).sum(1)), ("reward", reward.clone()),
                                  ("rest", rest), ("ends", ends.float())):  # fmt: skip
                    kept.setdefault(name, []).append(one)
                self.observed = self._parts(observed)
        ended = dict(zip((*TOTALS, "length"), (sums / count.clamp(min=1)).tolist(), strict=True))
        batch = {name: torch.stack(parts) for name, parts in kept.items()}
        return batch, {**ended, "episodes": float(count), "reward": float(batch["reward"].mean())}

    def take_scales(self, batch: dict[str, Any]) -> None:
        self.scaled.take(batch["robot"])
        self.scaled_all.take(batch["all"])

    def targets(self, batch: dict[str, Any]) -> Any:
        """What the critic should say, (period, world); puts `value` and `advantage` into the batch."""
        import torch  # pyright: ignore[reportMissingImports] an optional package

        with torch.no_grad():
            batch["value"] = self.critic(self.scaled_all(batch["all"]))[..., 0]
            last = self.critic(self.scaled_all(self.observed[1]))[:, 0]
        batch["advantage"] = advantages(batch, last, self.options.discount, self.options.trace)
        return batch["advantage"] + batch["value"]

    def _improve(self, batch: dict[str, Any]) -> None:
        o = self.options
        batch["target"] = self.targets(batch)
        flat = {name: values.flatten(0, 1) for name, values in batch.items()}
        flat["x"], flat["seen"] = self.scaled(flat["robot"]), self.scaled_all(flat["all"])
        flat["advantage"] = (flat["advantage"] - flat["advantage"].mean()) / (flat["advantage"].std() + 1e-8)
        change, goes_on = 0.0, True
        for rows in _minibatches(len(flat["x"]), o, self.device):
            part = {name: flat[name][rows] for name in ("x", "seen", "action", "chance", "advantage", "target")}
            error = ((self.critic(part["seen"])[:, 0] - part["target"]) ** 2).mean()
            self._step(self._critic_steps, error, self.critic.parameters())
            if goes_on:
                change = self._improve_actor(part)
                goes_on = change < 2 * o.change
        # Learn slower if the policy changed so much that it had to wait for new experience, else faster.
        low, high = LEARNING_RATES
        group = self._actor_steps.param_groups[0]
        factor = 1 / STEP_OF_RATE if not goes_on else STEP_OF_RATE if change < o.change / 2 else 1.0
        group["lr"] = min(max(group["lr"] * factor, low), high)

    def _improve_actor(self, part: dict[str, Any]) -> float:
        """One step of the actor. Returns how far it was from the policy that collected the experience, in nats."""
        import torch  # pyright: ignore[reportMissingImports] an optional package

        o = self.options
        choice = self.distribution(self.actor(part["x"]))
        logarithm = choice.log_prob(part["action"]).sum(1) - part["chance"]
        ratio = logarithm.exp()
        limited = ratio.clamp(1 - o.clip, 1 + o.clip)
        gain = torch.minimum(ratio * part["advantage"], limited * part["advantage"]).mean()
        loss = -gain - o.entropy * choice.entropy().sum(1).mean()
        self._step(self._actor_steps, loss, [*self.actor.parameters(), self.log_deviation])
        return float((ratio - 1 - logarithm).detach().mean())  # Schulman 2020: unbiased, never negative

    def _step(self, optimizer: Any, loss: Any, parameters: Any) -> None:
        import torch  # pyright: ignore[reportMissingImports] an optional package

        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, self.options.largest_gradient)
        optimizer.step()

    @property
    def rate(self) -> float:
        """Learning rate of the actor."""
        return self._actor_steps.param_groups[0]["lr"]

    # ---- the policy -----------------------------------------------------------------------------------

    def policy(self, notes: str = "") -> Policy:
        """The policy as it is now, without the random part of its actions, on the host."""
        import torch  # pyright: ignore[reportMissingImports] an optional package

        layers = [layer for layer in self.actor if isinstance(layer, torch.nn.Linear)]
        host = [one.detach().cpu().numpy() for one in (self.scaled.mean, self.scaled.deviation)]
        weights = tuple(layer.weight.detach().cpu().numpy() for layer in layers)
        biases = tuple(layer.bias.detach().cpu().numpy() for layer in layers)
        return Policy(self.env.task.name, self.names, host[0], host[1], weights, biases, notes)


def advantages(batch: dict[str, Any], last: Any, discount: float, trace: float) -> Any:
    """Generalised advantage estimates, (period, world): A_t = d_t + discount trace A_t+1 until an episode ends.

    d_t = r_t + discount V_t+1 - V_t; `last` is the value after the last period, `rest` that of what a truncated
    episode did not live to see.
    """
    import torch  # pyright: ignore[reportMissingImports] an optional package

    value, goes_on = batch["value"], 1 - batch["ends"]
    reward = batch["reward"] + discount * batch["rest"]
    out, ahead, following = torch.zeros_like(value), torch.zeros_like(last), last
    for t in reversed(range(len(value))):
        difference = reward[t] + discount * following * goes_on[t] - value[t]
        ahead = difference + discount * trace * goes_on[t] * ahead
        out[t], following = ahead, value[t]
    return out


def learn(
    learner: Learner, seconds: float, updates: int | None, report: Callable[[dict[str, float]], None], periods: int = 0
) -> None:  # fmt: skip
    """Update until `seconds` of wall time or a number of `updates` have passed; `report` gets a row for each.

    `periods`: control periods of all worlds before.
    """
    began, number = time.perf_counter(), 0
    while time.perf_counter() - began < seconds and (updates is None or number < updates):
        ended = learner.update()
        number += 1
        periods += learner.options.horizon * learner.env.num_envs
        deviation = float(learner.log_deviation.detach().exp().mean())
        report({"update": number, "periods": periods, **ended, "rate": learner.rate, "deviation": deviation})


def _network(inputs: int, hidden: tuple[int, ...], outputs: int, last: float) -> Any:
    """Layers with tanh between them and orthogonal weights; `last`: gain of the last layer."""
    import torch  # pyright: ignore[reportMissingImports] an optional package

    layers: list[Any] = []
    sizes = (inputs, *hidden, outputs)
    for k, (before, after) in enumerate(itertools.pairwise(sizes)):
        layer = torch.nn.Linear(before, after)
        final = k + 2 == len(sizes)
        torch.nn.init.orthogonal_(layer.weight, last if final else 2**0.5)
        torch.nn.init.zeros_(layer.bias)
        layers += [layer] if final else [layer, torch.nn.Tanh()]
    return torch.nn.Sequential(*layers)


def _minibatches(count: int, o: Options, device: str) -> Iterator[Any]:
    import torch  # pyright: ignore[reportMissingImports] an optional package

    for _ in range(o.epochs):
        yield from torch.randperm(count, device=device).chunk(min(o.minibatches, count))


def _tensor(values: Any, device: str) -> Any:
    import torch  # pyright: ignore[reportMissingImports] an optional package

    return torch.as_tensor(values, device=device)


def _for_env(action: Any) -> Any:
    """Actions as the environment takes them: as a tensor if it lives on CUDA, else as an array of NumPy."""
    return action if action.is_cuda else action.numpy()
