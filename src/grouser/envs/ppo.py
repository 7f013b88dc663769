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

LEARNING_RATES = 1e-5, 3e-3  # bounds between which the learning rate is adapted
FIRST_DEVIATION = 0.5  # of actions before training
STEP_OF_RATE = 1.5  # factor by which the learning rate is adapted


@dataclass(frozen=True)
class Options:
    """Numbers of the method. The learning rate follows the change of the policy (`change`, in nats), as in rsl_rl."""

    horizon: int = 16  # control periods between two updates
    hidden: tuple[int, ...] = (128, 128)
    learning_rate: float = 1e-3
    discount: float = 0.99
    trace: float = 0.95  # lambda of generalised advantage estimation, Schulman et al. 2016, arXiv:1506.02438
    clip: float = 0.2
    epochs: int = 6
    minibatches: int = 8
    entropy: float = 2e-3
    value_weight: float = 1.0
    change: float = 0.012
    largest_gradient: float = 1.0


class Learner:
    """Actor, critic and scales of the observations, on the device of the environment."""

    def __init__(self, env: Any, options: Options, seed: int, device: str):
        import torch  # pyright: ignore[reportMissingImports] an optional package

        torch.manual_seed(seed)
        if device == "cpu":
            torch.set_num_threads(1)  # the networks are small: threads would cost more than they save
        self.env, self.options, self.device = env, options, device
        self.names = tuple(env.observation_names["robot"])
        inputs, outputs = len(self.names), env.single_action_space.shape[0]
        self.actor = _network(inputs, options.hidden, outputs, last=0.01).to(device)
        self.critic = _network(inputs, options.hidden, 1, last=1.0).to(device)
        self.log_deviation = torch.full((outputs,), float(np.log(FIRST_DEVIATION)), device=device, requires_grad=True)
        self.parameters = [*self.actor.parameters(), *self.critic.parameters(), self.log_deviation]
        self.optimizer = torch.optim.Adam(self.parameters, lr=options.learning_rate)
        self.mean, self.square = torch.zeros(inputs, device=device), torch.ones(inputs, device=device)
        self.seen = 1.0  # number of observations behind mean and square
        self.observed = _tensor(env.reset(seed=seed)[0], device).clone()

    # ---- one update -----------------------------------------------------------------------------------

    def update(self) -> dict[str, float]:
        """Collect experience and improve the policy. Returns means over the episodes that ended."""
        batch, ended = self._collect()
        self._improve(batch)
        return ended

    def _scaled(self, observed: Any) -> Any:
        import torch  # pyright: ignore[reportMissingImports] an optional package

        deviation = torch.sqrt(torch.clamp(self.square - self.mean**2, min=1e-4))
        return torch.clamp((observed - self.mean) / deviation, -CLIP, CLIP)

    def _collect(self) -> tuple[dict[str, Any], dict[str, float]]:
        """Experience of `horizon` control periods of all worlds, with advantages."""
        import torch  # pyright: ignore[reportMissingImports] an optional package

        o, env = self.options, self.env
        kept: dict[str, list[Any]] = {name: [] for name in ("x", "action", "chance", "value", "reward", "ends")}
        raw, sums, count = [], torch.zeros(len(TOTALS) + 1, device=self.device), torch.zeros((), device=self.device)
        with torch.no_grad():
            for _ in range(o.horizon):
                x = self._scaled(self.observed)
                choice = self._choice(x)
                action = choice.sample()
                observed, reward, terminated, truncated, info = env.step(_for_env(env, action))
                reward, terminated, truncated = (_tensor(one, self.device) for one in (reward, terminated, truncated))
                ends = terminated | truncated
                value, reward = self.critic(x)[:, 0], reward.clone()
                if info:
                    # A truncated episode would have gone on: add what the critic expects of the rest.
                    final = self._scaled(_tensor(info["final_obs"], self.device))
                    reward += o.discount * self.critic(final)[:, 0] * truncated
                    totals = [_tensor(info["final_info"][name], self.device).float() for name in (*TOTALS, "length")]
                    sums += (torch.stack(totals, dim=1) * ends[:, None]).sum(0)
                    count += ends.sum()
                for name, one in (("x", x), ("action", action), ("chance", choice.log_prob(action).sum(1)),
                                  ("value", value), ("reward", reward), ("ends", ends.float().clone())):  # fmt: skip
                    kept[name].append(one)
                raw.append(self.observed)
                self.observed = _tensor(observed, self.device).clone()
            last = self.critic(self._scaled(self.observed))[:, 0]
        batch = {name: torch.stack(parts) for name, parts in kept.items()}
        batch["advantage"] = advantages(batch, last, o.discount, o.trace)
        batch["target"] = batch["advantage"] + batch["value"]
        self._learn_scales(torch.stack(raw))
        ended = dict(zip((*TOTALS, "length"), (sums / count.clamp(min=1)).tolist(), strict=True))
        return batch, {**ended, "episodes": float(count), "reward": float(batch["reward"].mean())}

    def _learn_scales(self, observed: Any) -> None:
        """Take observations into the running mean and mean square."""
        flat = observed.flatten(0, 1)
        share = len(flat) / (self.seen + len(flat))
        self.mean = (1 - share) * self.mean + share * flat.mean(0)
        self.square = (1 - share) * self.square + share * (flat**2).mean(0)
        self.seen += len(flat)

    def _choice(self, x: Any) -> Any:
        import torch  # pyright: ignore[reportMissingImports] an optional package

        return torch.distributions.Normal(self.actor(x), self.log_deviation.exp(), validate_args=False)

    def _improve(self, batch: dict[str, Any]) -> None:
        import torch  # pyright: ignore[reportMissingImports] an optional package

        o = self.options
        flat = {name: values.flatten(0, 1) for name, values in batch.items()}
        advantage = flat["advantage"]
        flat["advantage"] = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        for part in _minibatches(len(advantage), o, self.device):
            x, action, old = flat["x"][part], flat["action"][part], flat["chance"][part]
            choice = self._choice(x)
            logarithm = choice.log_prob(action).sum(1) - old
            ratio = logarithm.exp()
            limited = ratio.clamp(1 - o.clip, 1 + o.clip)
            gain = torch.minimum(ratio * flat["advantage"][part], limited * flat["advantage"][part]).mean()
            error = ((self.critic(x)[:, 0] - flat["target"][part]) ** 2).mean()
            loss = -gain + o.value_weight * error - o.entropy * choice.entropy().sum(1).mean()
            self.optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.parameters, o.largest_gradient)
            self.optimizer.step()
            self._adapt_rate(float((ratio - 1 - logarithm).detach().mean()))  # Schulman 2020: unbiased, never negative

    def _adapt_rate(self, change: float) -> None:
        """Learn slower if the policy has changed too much since the experience was collected, else faster."""
        low, high = LEARNING_RATES
        for group in self.optimizer.param_groups:
            if change > 2 * self.options.change:
                group["lr"] = max(low, group["lr"] / STEP_OF_RATE)
            elif change < self.options.change / 2:
                group["lr"] = min(high, group["lr"] * STEP_OF_RATE)

    # ---- the policy -----------------------------------------------------------------------------------

    def policy(self) -> Policy:
        """The policy as it is now, without the random part of its actions, on the host."""
        import torch  # pyright: ignore[reportMissingImports] an optional package

        layers = [layer for layer in self.actor if isinstance(layer, torch.nn.Linear)]
        deviation = torch.sqrt(torch.clamp(self.square - self.mean**2, min=1e-4))
        host = [one.detach().cpu().numpy() for one in (self.mean, deviation)]
        weights = tuple(layer.weight.detach().cpu().numpy() for layer in layers)
        biases = tuple(layer.bias.detach().cpu().numpy() for layer in layers)
        return Policy(self.env.task.name, self.names, host[0], host[1], weights, biases)


def advantages(batch: dict[str, Any], last: Any, discount: float, trace: float) -> Any:
    """Generalised advantage estimates, (period, world): A_t = d_t + discount trace A_t+1 until an episode ends.

    d_t = r_t + discount V_t+1 - V_t; `last` is the value after the last period.
    """
    import torch  # pyright: ignore[reportMissingImports] an optional package

    value, reward, goes_on = batch["value"], batch["reward"], 1 - batch["ends"]
    out, ahead, following = torch.zeros_like(value), torch.zeros_like(last), last
    for t in reversed(range(len(value))):
        difference = reward[t] + discount * following * goes_on[t] - value[t]
        ahead = difference + discount * trace * goes_on[t] * ahead
        out[t], following = ahead, value[t]
    return out


def learn(
    learner: Learner, seconds: float, updates: int | None, report: Callable[[dict[str, float]], None]
) -> None:  # fmt: skip
    """Update until `seconds` of wall time or a number of `updates` have passed; `report` gets each row of the curve."""
    began, periods, number = time.perf_counter(), 0, 0
    while time.perf_counter() - began < seconds and (updates is None or number < updates):
        ended = learner.update()
        number += 1
        periods += learner.options.horizon * learner.env.num_envs
        rate = learner.optimizer.param_groups[0]["lr"]
        deviation = float(learner.log_deviation.detach().exp().mean())
        wall = time.perf_counter() - began
        report({"update": number, "wall_s": wall, "periods": periods, **ended, "rate": rate, "deviation": deviation})


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


def _for_env(env: Any, action: Any) -> Any:
    """Actions as the environment takes them: as a tensor if it lives on CUDA, else as an array of NumPy."""
    return action if action.is_cuda else action.numpy()
