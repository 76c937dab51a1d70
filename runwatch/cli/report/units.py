"""Numbers and times as reports show them."""


def value(quantity: str, number: float) -> str:
    """A number as a report shows it: the learning rate as 1e-4, others in four digits."""
    if quantity == "lr" and 0 < abs(number) < 0.01:
        digits, _, power = f"{number:.3e}".partition("e")
        digits = digits.rstrip("0").rstrip(".")
        return f"{digits}e{int(power)}"
    if number == int(number) and abs(number) < 1e9 if number - number == 0 else False:
        return str(int(number))
    return f"{number:.4g}"


def percent(share: float) -> str:
    """12%, 6.8%."""
    return f"{100 * share:.1f}%" if share < 0.0995 else f"{100 * share:.0f}%"


def seconds(count: float) -> str:
    """45s; a fraction only where it matters."""
    return f"{count:.0f}s" if count >= 10 or count == int(count) else f"{count:.1f}s"


def span(count: float) -> str:
    """1h 23m, 12m, 40s, 3d 4h."""
    minutes = round(count / 60)
    if count < 60:
        return f"{count:.0f}s"
    if minutes < 60:
        return f"{minutes}m"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours}h {minutes}m"
    return f"{hours // 24}d {hours % 24}h"
