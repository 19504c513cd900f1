"""Check the English of the project: American spelling, and few of the idioms that make sentences hard to read.

``python .ci/plain_words.py`` fails if a group of files has too many idioms or a word has British spelling.
``--show`` lists every idiom with its place and a plainer word. Code in backticks and code blocks is not read. An idiom
can be right, as in "two lines stand beside each other", so only their number per thousand words counts.
"""

from __future__ import annotations

import argparse
import io
import re
import subprocess
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

#: Idioms in a thousand words that a group of files may have. Other projects have 0.1 to 0.5.
LIMIT = 0.8
#: Name of a group of files -> how their paths begin. The first that matches counts; the last takes all others.
GROUPS = {
    "library": ("src/shallows/",),
    "reproduction": ("src/",),
    "workflow": ("workflow/", "Snakefile", ".test/"),
    "configuration": ("config/", "data/"),
    "documentation": ("docs/",),
    "benchmarks": ("benchmarks/",),
    "tests": ("tests/",),
    "pages": ("",),
}
#: Texts that are not ours, and entries of datasets, whose words prepared data depend on.
NOT_READ = (
    "results/",
    "LICENSE",
    "data/embedded/",
    "data/README.md",
    "src/shallows_papers/datasets/catalogue/",
    ".ci/plain_words.py",
    "tests/test_lint.py",
    "tests/golden/report_table.md",
)
IDIOMS = {
    r"stands?(?! for)|stood": "is, is listed, applies",
    r"tells?|told": "reports, shows, says, warns",
    r"beside": "next to, compared with, in addition to",
    r"anew|afresh": "again, from scratch",
    r"in (?:the )?place of": "instead of",
    r"(?:so|as) many(?! as)": "name the number",
    r"at hand": "available",
    r"(?:can|could|cannot) (?:not )?be had|to be had": "is available",
    r"of (?:its|one's|their|our|his) own": "its own, before the noun",
    r"goes on|go on|went on": "continues",
    r"handed (?:in|over|on)|hand (?:in|over|on)": "pass, give",
    r"whoever|whosoever|wherever|whatever": "a user who, where, any",
    r"mend(?:s|ed|ing)?": "fix",
    r"holds? against|held against": "compared with",
    r"leaves? the numbers|left the numbers": "overflows, becomes NaN",
    r"(?:that|those) of (?:the|a|an|its|their|all|each)": "repeat the noun",
    r"(?-i:(?:is|are) none)": "is not one of",
    r"nobody|no one": "name who or what",
    r"ones?'s": "your, a user's",
    r"in words": "as text",
    r"to the end": "until convergence",
    r"divisions? of the (?:data|rows)": "splits",
    r"law of|(?:one|their) law": "distribution",
    r"lest|whence|thereof|herein": "so that ... not, from which",
    r"needs? be|need not": "has to, does not have to",
    r"far from": "much larger than",
    r"much the same|the same with": "similarly: say what",
    r"sa(?:ys?|id) so": "says which",
    r"parts? company|pays?": "is worth it, saves time",
}
#: Participles and adjectives that are no name of a function: it starts with a verb or is the noun that it returns.
NOT_NAMES = re.compile(
    "made|told|held|given|taken|found|wanted|placed|named|several|plain|own|same|among|applies|pays|listed|halved|looked|"
    "seen|kept|brought|embedded|asked|left|shared|joined|meant|known|shown|drawn|chosen|counted|said|whole|few|others|"
    "nothing|some|one"
)
#: Beginnings of British spellings -> the American ones.
BRITISH = {
    r"([a-z]*(?:al|ar|im|om|or|on|er|at|ct|gn|et|nt|it)i)s(e[ds]?|ers?|ing|ations?|ational)": r"\1z\2",
    r"([a-z]*(?:behavi|neighb|col|fav|hon))our([a-z]*)": r"\1or\2",
    r"(un)?centre(s?)": r"\1center\2",
    r"(un)?centred": r"\1centered",
    r"centring": "centering",
    r"(label|model|cancel|travel)l(ed|ing)": r"\1\2",
    r"analys(e|ed|ing)": r"analyz\1",
    r"artefact(s?)": r"artifact\1",
    r"grey([a-z]*)": r"gray\1",
    r"programme(s?)": r"program\1",
}
#: English words that end like British ones.
AMERICAN = re.compile(
    r".*(?:wise|(?<!o)rise[ns]?|prise[ds]?|promis(?:e[ds]?|ing)|precise|concise|exercise[ds]?|noises?|advise[ds]?)"
)
#: Words of prose, not names: no underscore, dot, slash, equals sign or quotation mark touches them.
WORD = re.compile(r"(?<![\w.=/\-\"'])[A-Za-z]{4,}(?![\w=(/\"']|\.\w)")
#: Code in backticks, targets of links, addresses, keys of YAML, lists of names.
CODE = re.compile(r"``.*?``|`[^`]*`(?!_)|\]\([^)]*\)|https?://\S+|^[\s-]*[\w '.-]{1,40}:(?= |$)|\[[\w, ]*\]|\{\w+: .*")
ALL_IDIOMS = re.compile(rf"\b(?:{'|'.join(IDIOMS)})\b", re.IGNORECASE)


def files(root: Path) -> list[str]:
    """Files with prose that Git knows."""
    listed = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True, check=True).stdout
    kinds = (".md", ".rst", ".yaml", ".py", ".pyi", ".smk")
    return [name for name in listed.splitlines() if name.endswith(kinds) and not name.startswith(NOT_READ)]


def group_of(name: str) -> str:
    """The group that a file belongs to."""
    return next(group for group, beginnings in GROUPS.items() if name.startswith(beginnings))


def prose(name: str, text: str) -> Iterator[tuple[int, str]]:
    """Yield numbered lines of Markdown and the like, and of the comments and strings of Python."""
    if not name.endswith((".py", ".pyi")):
        yield from enumerate(text.splitlines(), 1)
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if tokenize.tok_name[token.type].startswith(("COMMENT", "STRING", "FSTRING_M")):
            yield from enumerate(token.string.splitlines(), token.start[0])


def without_code(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Leave out code in backticks, fenced blocks, addresses and keys."""
    fenced = False
    for number, line in lines:
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and " " in line.strip():  # a single word in quotation marks is a key
            yield number, CODE.sub(" ", line)


def idioms(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the idiom and its plainer word."""
    for number, line in lines:
        for found in ALL_IDIOMS.finditer(line):
            yield number, found[0], plainer(found[0])


def bad_names(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line and the name of each function that is a bare participle or adjective."""
    for number, line in enumerate(text.splitlines(), 1):
        if (found := re.match(r" *def (_*(\w+))", line)) and NOT_NAMES.fullmatch(found[2]):
            yield number, f"def {found[1]}", "begin the name with a verb, or with the noun it returns"


def plainer(idiom: str) -> str:
    """What to write instead of an idiom."""
    return next(plain for pattern, plain in IDIOMS.items() if re.match(pattern, idiom, re.IGNORECASE))


def british(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the British word and its American form, where a line has at least four words."""
    for number, line in lines:
        if line.strip().count(" ") > 2:
            yield from ((number, word, to_american(word)) for word in WORD.findall(line) if to_american(word) != word)


@cache
def to_american(word: str) -> str:
    """A word with American spelling."""
    if not AMERICAN.fullmatch(word.lower()):
        for pattern, other in BRITISH.items():
            if re.fullmatch(pattern, word, re.IGNORECASE):
                spelled = re.sub(pattern, other, word, flags=re.IGNORECASE)
                return spelled.capitalize() if word[0].isupper() else spelled
    return word


def main() -> None:
    """Print what is wrong and exit with 1, or print the counts."""
    ask = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    ask.add_argument("beginning", nargs="*", default=[""], help="how the paths begin that are read")
    ask.add_argument("--root", type=Path, default=Path(__file__).parents[1])
    ask.add_argument("--show", action="store_true", help="list every idiom")
    given = ask.parse_args()
    words, counts, wrong = Counter[str](), Counter[str](), []
    for name in files(given.root):
        if not name.startswith(tuple(given.beginning)):
            continue
        text, group = (given.root / name).read_text(encoding="utf-8"), group_of(name)
        lines = list(prose(name, text))
        words[group] += sum(len(re.findall(r"[A-Za-z]{2,}", line)) for _, line in lines)
        lines = list(without_code(lines))
        for number, idiom, plain in [*idioms(lines), *(bad_names(text) if name.endswith(".py") else ())]:
            counts[group] += 1
            if given.show:
                print(f"{name}:{number}: {idiom} -> {plain}")
        wrong += [f"{name}:{n}: British {word!r}: write {other!r}." for n, word, other in british(lines)]
    for group in words:
        share = 1000 * counts[group] / max(words[group], 1)
        if share > LIMIT:
            wrong.append(
                f"The {group} has {share:.2f} idioms in a thousand words, the limit is {LIMIT}: "
                f"python .ci/plain_words.py --show {' '.join(GROUPS[group])}"
            )
        elif given.show:
            print(f"{group}: {share:.2f} idioms in a thousand of {words[group]} words")
    if wrong:
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main()
