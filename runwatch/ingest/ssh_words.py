"""Paths of another host as words of its shell: text of others is data, never a command."""

from shlex import quote

from runwatch.pattern import compiled

_SET = compiled(r"\[[!^]?[A-Za-z0-9_.,-]+\]")
_SIGNS = compiled(rf"({_SET.pattern}|\*+|\?)")


def pattern(path: str) -> str:
    """A glob whose signs are live and whose other text is quoted: `'/runs/'*'/rank 0.log'`."""
    parts = _SIGNS.split(path)
    words = []
    for at, part in enumerate(parts):
        if at % 2:
            words.append("*" if part.startswith("*") else part)
        elif part:
            words.append(quote(part))
    return "".join(words)


def has_signs(path: str) -> bool:
    """Whether a path may be a glob."""
    return bool(_SIGNS.search(path))


def finding(path: str) -> str:
    """A script that prints what a path names, each with a NUL: its kind and a name, the files.

    The first word is `folder`, `file`, `glob` or `missing`.
    """
    given, each = quote(path), "-exec printf '%s\\0' {} +"
    deep = ""
    if "**" in path:  # for find, a star goes to any depth
        before = path[: _SIGNS.search(path).start()].rpartition("/")[0] or "/"  # type: ignore[union-attr]
        ways = [path.replace("**", "*"), path.replace("**/", "")]
        tests = " -o ".join(f"-path {quote(way)}" for way in ways)
        deep = f"find -L {quote(before)} -type f \\( {tests} \\) {each}"
    shallow = (
        f'for f in {pattern(path)}; do if [ -d "$f" ]; then find -L "$f" -type f {each}; '
        'elif [ -f "$f" ]; then printf \'%s\\0\' "$f"; fi; done'
    )
    return (
        f"if [ -d {given} ]; then printf 'folder\\0'; find -L {given}/ -type f {each}\n"
        f"elif [ -e {given} ]; then printf 'file\\0%s\\0' {given}\n"
        f"else printf 'glob\\0'; {deep or shallow}; fi"
    )
