"""Studies: the frozen, saved description of a run, and the YAML file it is read from."""

from sightline.study.asked_checks import CheckedLayer, Checks
from sightline.study.benchmark import (
    Benchmark,
    DataChoice,
    LocalPerturbationAnalysis,
    RelevanceAnalysis,
    load_benchmark,
)
from sightline.study.files import load_study, to_yaml
from sightline.study.model import Data, Engine, MethodEntry, ModelEntry, Study, study_schema
from sightline.study.template import (
    demo_benchmark,
    demo_study,
    example_benchmark,
    new_study,
    photos_study,
)

__all__ = [
    "Benchmark",
    "CheckedLayer",
    "Checks",
    "Data",
    "DataChoice",
    "Engine",
    "LocalPerturbationAnalysis",
    "MethodEntry",
    "ModelEntry",
    "RelevanceAnalysis",
    "Study",
    "demo_benchmark",
    "demo_study",
    "example_benchmark",
    "load_benchmark",
    "load_study",
    "new_study",
    "photos_study",
    "study_schema",
    "to_yaml",
]
