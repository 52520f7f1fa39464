"""time.*: calendar and clock, from Python's datetime. The calendar repeats every 146097 days
(400 years), which carries datetime's years 1 to 9999 to all others."""

import calendar
import datetime

from reference import op, signed

EPOCH = datetime.date(1970, 1, 1)
CYCLE = 146097
assert datetime.date(2001, 1, 1) - datetime.date(1601, 1, 1) == datetime.timedelta(CYCLE)


def date_of(days):
    """The date in 1970 to 2369 that has the same place in its cycle, and the years to add."""
    return EPOCH + datetime.timedelta(days % CYCLE), days // CYCLE * 400


def days_of(year, month, day):
    cycles = (year - 1970) // 400
    return (datetime.date(year - 400 * cycles, month, 1) - EPOCH).days + day - 1 + cycles * CYCLE


def weekday(days):
    return date_of(days)[0].isoweekday()


def leap(year):
    return int(calendar.isleap(year))


SOME = (-401, -400, -1, 0, 1, 1600, 1899, 1900, 1969, 1970, 2000, 2023, 2024, 2100, 9999)
DAYS = [(days_of(y, m, d),) for y in SOME
        for m, d in ((1, 1), (1, 3), (1, 4), (2, 28), (3, 1), (7, 31), (12, 28), (12, 29), (12, 31))]
DAYS += [(x,) for c in (0, -719468, -719162, 2**31 - 4, 4 - 2**31) for x in range(c - 3, c + 4)]
YEARS = [(y,) for y in range(-5, 5)] + [(100 * y,) for y in range(-8, 25)] + [(2**31 - 1,), (-(2**31),)]
DATES = [(y, m, d) for y in (*SOME[1:5], 1900, 1970, 2000, 2024, 5000000) for m in range(27) for d in (1, 29)]


def near(year):
    """Whether adding to the year stays within i32."""
    return abs(year) < 2**30


@op("time.civil", "i32 -> vec4u32", inputs=DAYS, count=500)
def civil(days):
    date, years = date_of(days)
    return date.year + years, date.month, date.day, date.timetuple().tm_yday


op("time.year", "i32 -> i32", inputs=DAYS)(lambda days: civil(days)[0])
op("time.month", "i32 -> u32", inputs=DAYS)(lambda days: civil(days)[1])
op("time.day", "i32 -> u32", inputs=DAYS)(lambda days: civil(days)[2])
op("time.day_of_year", "i32 -> u32", inputs=DAYS)(lambda days: civil(days)[3])


@op("time.days_from_civil", "i32 u32 u32 -> i32", inputs=DATES, where=lambda year, month, day: near(year))
def days_from_civil(year, month, day):
    months = year * 12 + month - 1
    return signed(days_of(months // 12, months % 12 + 1, day))


@op("time.days_between", "i32 u32 u32 i32 u32 u32 -> i32",
    inputs=[(*a, *b) for a in DATES[::25] for b in DATES[::23]],
    where=lambda year1, month1, day1, year2, month2, day2: near(year1) and near(year2), count=100)
def days_between(year1, month1, day1, year2, month2, day2):
    return signed(days_from_civil(year2, month2, day2) - days_from_civil(year1, month1, day1))


@op("time.days_in_month", "i32 u32 -> u32", inputs=[(y, m) for (y,) in YEARS for m in range(14)])
def days_in_month(year, month):
    return calendar.monthrange(2000 + year % 400, month)[1] if 1 <= month <= 12 else 0


op("time.is_leap", "i32 -> u32", inputs=YEARS)(leap)
op("time.days_in_year", "i32 -> u32", inputs=YEARS)(lambda year: 365 + leap(year))
op("time.weekday", "i32 -> u32", inputs=DAYS)(weekday)
op("time.iso_week", "i32 -> u32", inputs=DAYS, count=500)(lambda days: date_of(days)[0].isocalendar().week)
op("time.iso_year", "i32 -> i32", inputs=DAYS)(
    lambda days: date_of(days)[0].isocalendar().year + date_of(days)[1])


@op("time.add_months", "i32 i32 -> i32",
    inputs=[(d, m) for (d,) in DAYS for m in (-13, -12, -1, 0, 1, 11, 25)])
def add_months(days, months):
    date, years = date_of(days)
    total = (date.year + years) * 12 + date.month - 1 + months
    year, month = total // 12, total % 12 + 1
    return signed(days_of(year, month, min(date.day, days_in_month(year, month))))


@op("time.add_years", "i32 i32 -> i32", inputs=[(d, y) for (d,) in DAYS for y in (-4, -1, 0, 1, 4, 100)],
    where=lambda days, years: near(years))
def add_years(days, years):
    return add_months(days, 12 * years)


def moment(seconds):
    """The time of day of a Unix time, negative ones included."""
    return datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds % (86400 * CYCLE))


CLOCK = [(x,) for c in (0, 60, 3600, 43200, 86400, 172800, 951782400) for x in (c - 1, c, c + 1) if x >= 0]
LONG = CLOCK + [(-x % 2**64,) for (x,) in CLOCK]
LONG += [(2**63 + x,) for x in (-86400, -86399, -1, 0, 1, 55807, 55808, 55809)]
for name, kind, inputs, bits in (("", "u32", CLOCK, 33), ("_u64", "u64", LONG, 64)):
    for part in ("hour", "minute", "second"):
        op(f"time.{part}{name}", f"{kind} -> u32", inputs=inputs)(
            lambda x, part=part, bits=bits: getattr(moment(signed(x, bits)), part))
    op(f"time.second_of_day{name}", f"{kind} -> u32", inputs=inputs)(
        lambda x, bits=bits: (moment(signed(x, bits)) - datetime.datetime(1970, 1, 1)).seconds)
    op(f"time.day_number{name}", f"{kind} -> i32", inputs=inputs)(
        lambda x, bits=bits: signed(signed(x, bits) // 86400))


@op("time.unix_seconds", "i32 u32 -> u64")
def unix_seconds(days, second_of_day):
    return days * 86400 + second_of_day


@op("time.from_hms", "u32 u32 u32 -> u32")
def from_hms(hour, minute, second):
    return (hour * 60 + minute) * 60 + second
