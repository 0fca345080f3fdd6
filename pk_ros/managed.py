"""The lifecycle of a node as calls of four things that it can do anyway. rclpy is known here."""

from __future__ import annotations

from rclpy.lifecycle import LifecycleNodeMixin, LifecycleState, TransitionCallbackReturn


class Managed(LifecycleNodeMixin):
    """A node that is a lifecycle node once `manage` was called, and just runs where it was not.

    Attributes:
        state: of the lifecycle, empty where the node is not managed.
    """

    state = ""

    def manage(self) -> None:
        """Become a lifecycle node."""
        self.state = "unconfigured"
        LifecycleNodeMixin.__init__(self)

    def prepare(self) -> bool:
        """Make ready to serve; give whether that could be."""
        raise NotImplementedError

    def begin_serving(self) -> None:
        """Publish, subscribe and offer services."""
        raise NotImplementedError

    def end_serving(self) -> None:
        """Take that back."""
        raise NotImplementedError

    def forget(self) -> None:
        """Undo `prepare`."""
        raise NotImplementedError

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Prepare, or stay unconfigured."""
        if not self.prepare():
            return TransitionCallbackReturn.FAILURE
        return self._now("inactive")

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Serve."""
        self.begin_serving()
        return self._now("active")

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Serve no longer; what was prepared is kept."""
        self.end_serving()
        return self._now("inactive")

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Serve no longer, and forget."""
        self.end_serving()
        self.forget()
        return self._now("unconfigured")

    on_error = on_cleanup

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Serve no longer, for good."""
        self.on_cleanup(state)
        return self._now("finalized")

    def _now(self, state: str) -> TransitionCallbackReturn:
        self.state = state
        return TransitionCallbackReturn.SUCCESS
