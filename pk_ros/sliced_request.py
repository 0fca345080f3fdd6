"""What requests on the work queue have in common: they go in steps, and whatever goes wrong becomes the answer. No rclpy."""

from __future__ import annotations

from collections.abc import Callable

import pk_core as pk

from .answers import FKAnswer, IKAnswer
from .requests import ErrorCode, Refusal, abridged


class SlicedRequest:
    """A job of the work queue that raises nothing.

    Attributes:
        answer: None until the last step.
    """

    _kind: type[IKAnswer] | type[FKAnswer]
    answer: IKAnswer | FKAnswer | None = None

    def step(self) -> bool:
        """Do the next slice; give whether it was the last."""
        if self.answer is None:
            self._guard(self._advance)
        return self.answer is not None

    def refuse(self, code: ErrorCode, reason: str) -> None:
        """End with nothing but the reason."""
        self.answer = self._kind(error_code=code, message=reason)

    def _advance(self) -> None:
        """Do the next slice, or raise what speaks against it."""
        raise NotImplementedError

    def _guard(self, function: Callable[[], None]) -> None:
        try:
            function()
        except Refusal as refusal:
            self.refuse(refusal.code, refusal.reason)
        except pk.PkError as error:  # an option that pk knows of but does not do
            self.refuse(ErrorCode.FAILURE, abridged(str(error)))
        except Exception as error:  # whatever it is, the node must go on and the caller must hear of it
            self.refuse(ErrorCode.FAILURE, abridged(f"{type(error).__name__}: {error}"))
