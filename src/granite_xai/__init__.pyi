"""The public names and their rooms, once: for tools that do not run the code, and read by ``__init__``."""

from granite_xai import datasets as datasets, frameworks as frameworks, partitioners as partitioners
from granite_xai.base.errors import (
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
from granite_xai.compute import Resources as Resources
from granite_xai.disagreement.catalog import (
    explanations as explanations,
    question as question,
    questions as questions,
)
from granite_xai.disagreement.disagreement import (
    Disagreement as Disagreement,
    Objective as Objective,
)
from granite_xai.display.decisions import (
    ComparisonDisplay as ComparisonDisplay,
    GroupsDisplay as GroupsDisplay,
    PathDisplay as PathDisplay,
    RowDisplay as RowDisplay,
)
from granite_xai.display.effect import EffectDisplay as EffectDisplay
from granite_xai.display.importance import ImportanceDisplay as ImportanceDisplay
from granite_xai.display.network import InteractionDisplay as InteractionDisplay
from granite_xai.display.tree import (
    PartitionDisplay as PartitionDisplay,
    StabilityDisplay as StabilityDisplay,
)
from granite_xai.estimator import Granite as Granite
from granite_xai.explanation.behavior import (
    Local as Local,
    Risk as Risk,
    Sensitivity as Sensitivity,
)
from granite_xai.explanation.explainer import Explainer as Explainer
from granite_xai.explanation.influence import (
    Individual as Individual,
    Interactions as Interactions,
    Joint as Joint,
)
from granite_xai.explanation.interaction import Full as Full, Partial as Partial, Pure as Pure
from granite_xai.explanation.masking import (
    Accumulated as Accumulated,
    Baseline as Baseline,
    Conditional as Conditional,
    Marginal as Marginal,
)
from granite_xai.explanation.result import Explanation as Explanation
from granite_xai.inference.estimate import Estimate as Estimate
from granite_xai.inference.stability import Stability as Stability
from granite_xai.persistence import load as load, save as save
from granite_xai.regions.partition import Partition as Partition, Region as Region
from granite_xai.regions.rule import Rule as Rule
from granite_xai.report import Report as Report, explain as explain
from granite_xai.results.row import RowExplanation as RowExplanation
from granite_xai.studies.comparison import Comparison as Comparison, compare as compare
from granite_xai.studies.groups import (
    GroupProposal as GroupProposal,
    propose_groups as propose_groups,
)

__version__: str
