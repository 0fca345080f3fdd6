"""The ROS 2 node of pk, and a client for it. The generated `pk_ros.msg` and `pk_ros.srv` live in this package too."""

# The generated modules are installed elsewhere when this runs from the source tree: look in every pk_ros on sys.path.
__path__ = __import__("pkgutil").extend_path(__path__, __name__)
