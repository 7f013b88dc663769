"""A first policy by imitation: the actor learns what a hand-written controller would do, the critic what that earns.

The controller drives with random actions on top, so that the actor is also taught beside the controller's own path
(Laskey et al. 2017, arXiv:1703.09327). Experience is used for both, so that training goes on with a critic that knows
the first policy.
"""

from __future__ import annotations

from typing import Any

from grouser.envs.controllers import Controller
from grouser.envs.ppo import Learner

STEPS = 1000  # of Adam, for the actor and for the critic
MINIBATCH = 1024
LEARNING_RATE = 1e-3
ROUNDS = 4  # times that the critic's targets are made anew with the critic learned so far


def imitate(learner: Learner, controller: Controller, periods: int) -> dict[str, float]:
    """Learn from so many control periods of the controller. Returns the root mean square error of the actions."""
    import torch  # pyright: ignore[reportMissingImports] an optional package

    def choose(robot: Any) -> Any:
        wanted = controller(robot.cpu().numpy())
        return learner.distribution(torch.as_tensor(wanted, device=learner.device))

    batch, ended = learner.collect(periods, choose)
    learner.take_scales(batch)
    learner.scales_move = False  # from here on only learning changes the policy
    with torch.no_grad():
        x, seen = learner.scaled(batch["robot"].flatten(0, 1)), learner.scaled_all(batch["all"].flatten(0, 1))
    wanted = batch["wanted"].flatten(0, 1)
    _fit(learner.actor, x, wanted)
    for _ in range(ROUNDS):
        _fit(learner.critic, seen, learner.targets(batch).flatten(0, 1)[:, None], STEPS // ROUNDS)
    with torch.no_grad():
        error = float(((learner.actor(x) - wanted) ** 2).mean().sqrt())
    return {"error": error, "deviation": float(wanted.std(0).mean()), **ended}


def _fit(network: Any, x: Any, wanted: Any, steps: int = STEPS) -> None:
    """Least squares by Adam, with a learning rate that falls to zero."""
    import torch  # pyright: ignore[reportMissingImports] an optional package

    optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    fall = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=steps)
    for _ in range(steps):
        part = torch.randint(len(x), (MINIBATCH,), device=x.device)
        loss = ((network(x[part]) - wanted[part]) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        fall.step()
