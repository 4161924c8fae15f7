"""The public names and their rooms, for type checkers and for ``__init__``, which loads them by this table."""

from . import datasets as datasets, frameworks as frameworks, partitioners as partitioners
from .algebra.accumulated import Accumulated as Accumulated
from .algebra.behavior import (
    Local as Local,
    Risk as Risk,
    Sensitivity as Sensitivity,
)
from .algebra.catalog import explanations as explanations
from .algebra.disagreement import (
    Disagreement as Disagreement,
    question as question,
    questions as questions,
)
from .algebra.explainer import Explainer as Explainer
from .algebra.explanation import Explanation as Explanation
from .algebra.influence import (
    Individual as Individual,
    Interactions as Interactions,
    Joint as Joint,
)
from .algebra.interaction import Full as Full, Partial as Partial, Pure as Pure
from .algebra.masking import (
    Baseline as Baseline,
    Conditional as Conditional,
    Marginal as Marginal,
)
from .algebra.objective import Objective as Objective
from .base.errors import (
    BinWarning as BinWarning,
    DataWarning as DataWarning,
    FormatError as FormatError,
    GraniteError as GraniteError,
    GraniteWarning as GraniteWarning,
    InputError as InputError,
    ModelError as ModelError,
    ModelWarning as ModelWarning,
    ResourceError as ResourceError,
)
from .base.limits import Resources as Resources
from .curves.shared import SharedCurves as SharedCurves
from .displays.effects import ComparisonDisplay as ComparisonDisplay, EffectDisplay as EffectDisplay
from .displays.importance import ImportanceDisplay as ImportanceDisplay
from .displays.interactions import InteractionDisplay as InteractionDisplay
from .displays.output import OutputDisplay as OutputDisplay
from .displays.overview import OverviewDisplay as OverviewDisplay
from .displays.row import RowDisplay as RowDisplay
from .displays.tree import PartitionDisplay as PartitionDisplay
from .estimator import Granite as Granite
from .fitting.stability import Stability as Stability
from .inference.estimate import Estimate as Estimate
from .inference.model_errors import ModelErrors as ModelErrors
from .models.survival import outputs as outputs, survival as survival
from .regions import Partition as Partition, Region as Region, Rule as Rule
from .report import Report as Report, explain as explain
from .results.compare import Comparison as Comparison, compare as compare
from .results.groups import GroupProposal as GroupProposal, propose_groups as propose_groups
from .results.row import RowExplanation as RowExplanation
from .saving import load as load, save as save

__version__: str
