# SPDX-License-Identifier: BSD-3-Clause
"""For `python3 setup.py bdist_wheel`, which needs no pip; all else is in pyproject.toml."""
from setuptools import setup

setup()
