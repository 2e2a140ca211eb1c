import { dice } from '@switchyard/testkit';

const DAY_MS = 86_400_000;
const FIELDS = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12 },
  { min: 0, max: 7 },
] as const;
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** Returns the first fires of an expression in UTC, by the rules of Vixie cron: with both days restricted, either of them is enough. */
export function listVixieFires(expr: string, fromMs: number, count: number, days: number): number[] {
  const texts = expr.split(' ');
  const [minutes, hours, monthDays, months, weekdays] = texts.map(parseField) as [number[], number[], number[], number[], number[]];
  const [isAnyMonthDay, isAnyWeekday] = [texts[2] === '*', texts[4] === '*'];
  const fires: number[] = [];
  for (let day = Math.floor(fromMs / DAY_MS) * DAY_MS; day < fromMs + days * DAY_MS && fires.length < count; day += DAY_MS) {
    const date = new Date(day);
    if (!months.includes(date.getUTCMonth() + 1)) continue;
    const isMonthDay = monthDays.includes(date.getUTCDate());
    const isWeekday = weekdays.some((weekday) => weekday % 7 === date.getUTCDay());
    if (isAnyMonthDay || isAnyWeekday ? !(isMonthDay && isWeekday) : !(isMonthDay || isWeekday)) continue;
    for (const hour of hours) for (const minute of minutes) fires.push(day + (hour * 60 + minute) * 60_000);
  }
  return fires.filter((at) => at > fromMs).slice(0, count);
}

function parseField(text: string, index: number): number[] {
  const { min, max } = FIELDS[index] ?? FIELDS[0];
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const [range = '', step = '1'] = part.split('/');
    const [first = '', last] = range.split('-');
    const from = first === '*' ? min : parseValue(first, index);
    const to = first === '*' ? (index === 4 ? 6 : max) : parseValue(last ?? first, index);
    for (let value = from; value <= to; value += Number(step)) values.add(value);
  }
  return [...values].toSorted((one, other) => one - other);
}

function parseValue(text: string, index: number): number {
  const name = (index === 3 ? MONTHS : WEEKDAYS).indexOf(text.toLowerCase());
  if (name === -1) return Number(text);
  return index === 3 ? name + 1 : name;
}

/** Returns a random expression of five fields: values, names, ranges, lists and steps. */
export function createExpression(seed: number): string {
  const random = dice(seed);
  const between = (min: number, max: number): number => min + random.below(max - min + 1);

  function createPart(index: number): string {
    const { min, max } = FIELDS[index] ?? FIELDS[0];
    const top = index === 4 ? 6 : max;
    if (index >= 3 && random.chance(0.3)) return random.of(index === 3 ? MONTHS : WEEKDAYS);
    const kind = random.below(4);
    if (kind === 0) return String(between(min, max));
    const first = between(min, top - 1);
    const last = between(first + 1, top);
    if (kind === 1) return `${first}-${last}`;
    if (kind === 2) return `${first}-${last}/${between(1, 5)}`;
    return String(between(min, top));
  }

  return FIELDS.map(({ max }, index) => {
    if (random.chance(index < 2 ? 0.3 : 0.55)) return '*';
    // A step over all values is a wildcard in one cron and a restriction in another, so that days have none.
    if (index !== 2 && index !== 4 && random.chance(0.2)) return `*/${between(2, Math.max(Math.floor(max / 3), 2))}`;
    return Array.from({ length: between(1, 3) }, () => createPart(index)).join(',');
  }).join(' ');
}
