"""Regions: rules, the tree and the partition that they make, their words and their code."""

from granite_xai.regions.partition import Partition, Region
from granite_xai.regions.rule import (
    Condition,
    Interval,
    Levels,
    Rule,
    Side,
    complementary,
    cut,
    find_column,
    grouping,
    missing_or_present,
    satisfied,
)
from granite_xai.regions.tree import Leaf, Node, Place, Split, find_leaves, walk
from granite_xai.regions.values import NANOSECONDS, Instant, instant, nanoseconds
from granite_xai.regions.words import (
    Vocabulary,
    condition_words,
    draw_tree,
    feature_text,
    rule_conditions,
    rule_in_sentence,
    rule_words,
    vocabulary,
    word_list,
)

__all__ = [
    "NANOSECONDS",
    "Condition",
    "Instant",
    "Interval",
    "Leaf",
    "Levels",
    "Node",
    "Partition",
    "Place",
    "Region",
    "Rule",
    "Side",
    "Split",
    "Vocabulary",
    "complementary",
    "condition_words",
    "cut",
    "draw_tree",
    "feature_text",
    "find_column",
    "find_leaves",
    "grouping",
    "instant",
    "missing_or_present",
    "nanoseconds",
    "rule_conditions",
    "rule_in_sentence",
    "rule_words",
    "satisfied",
    "vocabulary",
    "walk",
    "word_list",
]
