"""The public names and their rooms, for type checkers and for ``__init__``, which loads them by this table."""

from . import datasets as datasets, frameworks as frameworks, partitioners as partitioners
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
from .compute import Resources as Resources
from .disagreement.catalog import question as question, questions as questions
from .disagreement.disagreement import Disagreement as Disagreement
from .disagreement.objective import Objective as Objective
from .display.comparison import ComparisonDisplay as ComparisonDisplay
from .display.effect import EffectDisplay as EffectDisplay
from .display.importance import ImportanceDisplay as ImportanceDisplay
from .display.network import InteractionDisplay as InteractionDisplay
from .display.overview import OverviewDisplay as OverviewDisplay
from .display.row import RowDisplay as RowDisplay
from .display.tree import PartitionDisplay as PartitionDisplay
from .estimator import Granite as Granite
from .explanation.behavior import (
    Local as Local,
    Risk as Risk,
    Sensitivity as Sensitivity,
)
from .explanation.catalog import explanations as explanations
from .explanation.explainer import Explainer as Explainer
from .explanation.influence import (
    Individual as Individual,
    Interactions as Interactions,
    Joint as Joint,
)
from .explanation.interaction import Full as Full, Partial as Partial, Pure as Pure
from .explanation.masking import (
    Accumulated as Accumulated,
    Baseline as Baseline,
    Conditional as Conditional,
    Marginal as Marginal,
)
from .explanation.result import Explanation as Explanation
from .inference.estimate import Estimate as Estimate
from .inference.stability import Stability as Stability
from .regions import Partition as Partition, Region as Region, Rule as Rule
from .report import Report as Report, explain as explain
from .results.row import RowExplanation as RowExplanation
from .saving import load as load, save as save
from .studies.comparison import Comparison as Comparison, compare as compare
from .studies.groups import (
    GroupProposal as GroupProposal,
    propose_groups as propose_groups,
)

__version__: str
