"""Package pk for pip. colcon builds the same tree by package.xml and CMakeLists.txt, whose version this is too."""

from glob import glob
from pathlib import Path
from xml.etree import ElementTree

from setuptools import find_packages, setup

HERE = Path(__file__).parent

setup(
    name="pk",
    version=ElementTree.parse(HERE / "package.xml").findtext("version"),
    description="Batched, differentiable robot kinematics in PyTorch, and a ROS 2 node that serves it",
    author="The pk authors",
    license="MIT",
    python_requires=">=3.10",
    packages=find_packages(include=["pk_core", "pk_core.*", "pk_ros", "pk_ros.*"]),
    package_data={"pk_core": ["py.typed"]},
    # Where ament puts them too, so that a description has one path under either prefix.
    data_files=[
        ("share/pk_ros/config", glob("config/*.yaml")),
        ("share/pk_ros/config/robots", glob("config/robots/*")),
    ],
    install_requires=["torch>=2.4", "numpy>=1.26,<3", "lxml", "numba"],
    extras_require={"cuda": ["numba-cuda[cu12]>=0.20"], "xacro": ["xacro>=2"]},
)
