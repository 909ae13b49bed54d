"""The page of a study, and the page that lists them all, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from crlm.reproduce.study import Page, Plan, Study


def markdown(study: Study, plan: Plan, page: Page) -> str:
    """Page: claims beside what was found, checks, figures, tables, notes."""
    size = "full" if plan.full else "quick"
    if plan.methods is not None:
        size += f" --methods {','.join(sorted(plan.methods))}"
    parts = [
        f"# {study.title}",
        f"`{study.place}` in the paper · `crlm reproduce {study.name} --{size} --seed {plan.seed}`",
        grid(("the paper says", "here", "agree"), page.claims),
        "## Checks",
        "\n".join(
            f"- {'holds' if c.holds else '**does not hold**'}: {c.statement} ({c.found})"
            for c in page.checks
        ),
        *(f"![{study.title}]({name}.png)" for name in page.figures),
    ]
    for table in page.tables:
        parts += [f"## {table.title}", grid(table.head, table.rows)]
    parts += page.notes
    return "\n\n".join(parts) + "\n"


def overview(pages: Sequence[tuple[Study, Page]]) -> str:
    """List of studies with how many of their checks hold."""
    rows = [
        (
            f"[{study.name}]({study.name}/{study.name}.md)",
            study.place,
            f"{sum(c.holds for c in page.checks)} of {len(page.checks)}",
            "; ".join(dict.fromkeys(claim.agree for claim in page.claims)),
        )
        for study, page in pages
    ]
    head = ("study", "in the paper", "checks that hold", "agrees with the paper")
    return "# The paper, reproduced\n\n" + grid(head, rows) + "\n"


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Table in Markdown.

    >>> print(grid(("n", "F"), [("5", "1.0")]))
    | n | F |
    |---|---|
    | 5 | 1.0 |
    """
    lines = [head, ["---"] * len(head), *rows]
    texts = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
    texts[1] = texts[1].replace(" ", "")
    return "\n".join(texts)
