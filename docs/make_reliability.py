"""Write docs/reliability.rst: every case, and what happens.

python docs/make_reliability.py
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reliability.rst"

CASES: dict[str, dict[str, str]] = {
    "The table": {
        "D01": "Missing values and a model that neither declares to take them nor does when tried: an error naming "
        "columns and rows.",
        "D02": 'With ``missing="allow"`` missing values are equal to each other; rules say where they go. New ones in a '
        "column that had none go with the larger child; a warning names the columns.",
        "D03": "Infinite values: an error naming columns and rows.",
        "D04": "``None``, ``NA`` and ``NaT`` are missing; texts stay levels.",
        "D05": "A constant column is never split, has no effect, and is listed in ``diagnostics_``.",
        "D06": "Columns far from zero (epoch seconds) are split by exact comparison of their values.",
        "D07": "Duplicate column names: an error listing names and positions.",
        "D09": "Whole numbers are names; tuples and names that read the same: an error.",
        "D10": "Every column keeps its dtype when rows are recombined.",
        "D11": "Objects that are all numbers are numeric; texts are levels, splits tell the hundred most frequent "
        "apart. A column of texts that are mostly different, or that the model does not use, passes on to it, "
        "unless it is named.",
        "D12": "Text and numbers in one column, or cells that are neither: an error with examples.",
        "D13": "Categories without order are split by levels and reach the model as they are.",
        "D14": "Ordered categories are split in their order; unused ones are kept for the model, not offered.",
        "D15": "Levels that were never seen go with the larger child; a warning names them. A model that refuses the "
        "row of ``explain_row`` because of one: an error that names level and column.",
        "D17": "Truth values stay truth values; rules read ``x is False``.",
        "D18": "Dates are ordered and readable, in UTC where they have a time zone; periods and mixed zones: an error.",
        "D19": "pandas' nullable and Arrow-backed columns work.",
        "D20": "Whole numbers beyond 2**53: a warning, also where the model tells apart what float64 cannot hold; "
        "decimals and big integers: an error.",
        "D21": "The model gets the original precision; we compute in float64.",
        "D22": "Complex numbers: an error.",
        "D23": "Sparse tables: an error with the dense size.",
        "D25": "What is no table of rows and columns: an error with the conversion to use.",
        "D26": "pandas, polars and pyarrow work; other libraries: an error naming the type.",
        "D27": "Arrays in any layout are read; the table is never written.",
        "D28": "No rows: an error.",
        "D29": "One row: one region and the reason.",
        "D30": "Too few rows for two regions: one region and the reason; for two halves: an error.",
        "D31": "One column: one region where both explanations are the same.",
        "D32": "No columns: an error.",
        "D33": "A plan beyond the memory limit: an error before the model is asked, with what would fit.",
        "D34": "All rows identical: one region.",
        "D35": "Heavy ties: no region is ever empty.",
        "D36": "Minus zero equals zero; denormal numbers work.",
        "D37": "Columns missing, new or reordered after the fit: scikit-learn's error; against the model's own "
        "columns: an error that names them, before the model is asked.",
        "D38": "An array after a frame: scikit-learn's warning.",
        "D39": "Row labels do not matter; messages use them.",
        "D41": "Overlapping, unknown or empty groups: an error naming group and column.",
        "D42": "Rules use the members of a group.",
        "D43": "Weights that are negative, missing, all zero or too few, clusters with missing labels, and both with "
        "the row labels of another table: an error.",
        "D44": "A data set that is neither in the folder nor on OpenML: an error saying where to put it.",
        "D46": "Fewer than five rows of a region as their own reference: an error that says why.",
        "D47": "Clusters at the fit, and none with the rows that judge it: a warning: the interval is too narrow.",
        "D48": "A lazy table: a note on how its rows are drawn; without an order of their own a seed draws other rows each time.",
        "D49": "Features that tell each other so closely that bins of conditional masking are too wide: the rows choose a "
        "copula; where bins are asked for, in the paper's algorithm, and where nothing else can be done (several features "
        "shown and several hidden): a warning with what bins and a copula leave of a feature.",
    },
    "Target and risk": {
        "T01": "A question about risk without ``y``: an error that names the question, before the model is asked.",
        "T02": "A target of the wrong length: an error with both lengths.",
        "T03": "Missing or infinite targets: an error with the rows.",
        "T04": "One column is a target; several: an error.",
        "T05": "Texts for a regression loss, or classes that the model does not know: an error listing them.",
        "T06": "Labels of ``y`` that are not those of ``X``: an error.",
        "T07": "A loss that returns the wrong shape, no numbers or negative ones: an error; it gets copies.",
        "T08": "Probabilities outside [0, 1]: an error.",
        "T09": "A constant target, or one class only, is a target.",
        "T10": "A column that is ``y``, also in another unit or scale: a warning that names it.",
    },
    "The model": {
        "M01": "Answers of one column are read.",
        "M02": "Several outputs: an error that lists them, unless ``output`` chooses one or all.",
        "M03": "Answers of the wrong shape: an error with both; arrays of any library are read.",
        "M04": "Answers that are not finite: an error with the recombined rows that produced them.",
        "M05": "Texts and complex answers: an error; whole numbers and truth values are numbers.",
        "M06": "Single precision is computed in double, and enters the noise floor.",
        "M07": "A model that raises: a row at fault is named; at every row: a hint to the table or the Pipeline that it was "
        "fitted on.",
        "M09": "Answers that change on repeats, or with the batch: a warning, and the noise floor rises.",
        "M11": "A model that writes into its input gets copies; a warning says so.",
        "M13": "More model rows than ``max_evaluations``, where explicit options ask for them: an error before the work. A default "
        "budget that pays for less than a tenth of the rows: a warning that names a larger one.",
        "M14": "Recombined rows have the columns, dtypes and categories that the model was trained on.",
        "M15": "No call is larger than ``Resources(batch_size=)``.",
        "M16": "The model is called from one thread at a time, on a worker too; processes are never made by fork.",
        "M20": "A model that is not fitted: an error with the model's own.",
        "M21": "A class, a module, ``None``: an error.",
        "M22": "What is explained (which class, probability or score) is named.",
        "M23": "Trees are compared with the model's own answers; links are declared, a difference is a warning.",
        "M24": "Early stopping: the trees that ``predict`` uses.",
        "M25": "Categorical splits are read exactly, or the model itself is asked.",
        "M26": "Missing values go the way the model sends them.",
        "M27": "Rows on a threshold and beside it go the model's way.",
        "M28": "Trees of any size and depth.",
        "M29": "Constant trees and single trees.",
        "M30": "An ensemble that is not recognised is never guessed: the model itself is asked.",
        "M31": "A model that cannot be pickled, or that lives on a device, is not sent to workers: it is asked in this "
        "process, with one warning.",
        "M32": "An array for a model that was fitted on named columns: one warning, and the names of the fit for the model.",
    },
    "Parameters": {
        "P01": "Unknown names: an error with the valid ones and the closest.",
        "P02": "Numbers out of range, fewer than 30 held-out rows: an error with the range.",
        "P03": "Choices that contradict each other, fitting rows held out: an error.",
        "P04": "Unknown columns: an error with those there are.",
        "P07": "``random_state`` as in scikit-learn; a drawn seed is in ``diagnostics_``.",
        "P08": "``n_jobs`` as in scikit-learn; more than there are processors count as all of them.",
        "P09": "``set_params``, ``clone`` and copies as in scikit-learn; a fit that fails leaves the old one.",
    },
    "Numbers and determinism": {
        "N01": "Disagreement below the noise floor is nothing to explain.",
        "N02": "Unit and offset of the prediction change no rule, up to offsets of 1e8 standard deviations.",
        "N03": "Ties go to the first column and the smallest threshold, and are counted in ``diagnostics_``.",
        "N04": "Bitwise equal for any number of threads and workers and on a busy machine; the same regions and figures for "
        "rows in any order; the same regions for any block size. "
        "``save`` writes equal fits as equal bytes.",
        "N05": "Sums are centred first: variances are never negative and keep their digits.",
        "N06": "Predictions (or y) above 1e70 in size, or none that reaches 1e-70: an error that says to rescale.",
        "N07": "Tiny and empty sets raise no warning of NumPy.",
        "N08": "Thresholds are the shortest numbers that separate the rows, and read back exactly.",
        "N09": "Rules are joined by values, whatever the columns are called.",
        "N10": "A noise floor that hides more than rounding: a warning.",
    },
    "Faults while running": {
        "R01": "An interrupt ends a fit within two seconds (or one model call); nothing is left or kept.",
        "R03": "Batches lost with a worker are asked again; after three losses in this process, with a warning.",
        "R08": "No device, a lost device, or too little of its memory: an error.",
        "R12": "Works after a fork and inside daemons; nothing is started at import.",
        "R13": "Threads that share a fitted object get the same answers.",
        "R15": "Needs no home, no terminal, no cache folder.",
        "R17": "A reader that leaves early (``| head``) causes no noise.",
    },
    "Files": {
        "F01": "A full disk leaves the old file and no part of the new one.",
        "F02": "A target that cannot be written is refused before the work.",
        "F03": "Existing files are replaced at once or not at all.",
        "F04": "Truncated and invalid files, and what would fail only when it is used: an error naming the place.",
        "F05": "Hostile files, and what is no regular file, are refused; nothing in a file is run.",
        "F06": "Pickles are refused, whatever wraps them.",
        "F07": "Files of other versions are refused with both versions; what to do stands beside.",
        "F08": "``pickle``, ``deepcopy``, ``clone`` and joblib as in scikit-learn.",
        "F09": "Without the fitting rows a loaded object says what it cannot do; a model that predicts something else "
        "of the one row in the file, or another mean in a region of the fitting rows, is refused.",
        "F10": "Files are UTF-8 with the same bytes everywhere.",
    },
    "Reports, pictures and the command line": {
        "S01": "Hostile names are shown as text wherever they appear.",
        "S02": "A report makes no request.",
        "S04": "Control characters in names cannot act on a terminal.",
        "S05": "Names that look like formulas are drawn as they are.",
        "S07": "Long names and many columns are cut in pictures, not in tables.",
        "S09": "The same files in every locale.",
        "S11": "Pickled models are loaded only when asked for.",
        "S12": "Ragged rows and duplicate headers: an error with the line. A few cells that turn numbers into text: a "
        "warning with column, line and cell.",
        "S14": "Exit codes tell usage, data, model and limits apart.",
        "S15": "A report holds no raw rows.",
        "S16": "A report cannot change the notebook around it.",
    },
}
HEAD = """.. Written by docs/make_reliability.py; change it there.

Reliability
===========

No silent wrong answer: each case below is handled as it says, or ends in an error that names the argument, the column,
the rows and what to do. Its code starts the message and is the attribute ``code`` of the error. What the data alone
decide is refused before the model is asked.
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for title, cases in CASES.items():
        parts.append(
            f"{title}\n{'-' * len(title)}\n\n.. list-table::\n   :header-rows: 1\n   :widths: 8 92\n"
        )
        rows = ["   * - Case\n     - What happens"]
        rows += [f"   * - {number}\n     - {text}" for number, text in cases.items()]
        parts.append("\n".join(rows) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
