const date = new Intl.DateTimeFormat(undefined, { dateStyle: 'short', timeStyle: 'medium' });

/** Formats epoch milliseconds or an ISO time. */
export function formatTime(time: number | string | undefined): string {
  return time === undefined ? '–' : date.format(new Date(time));
}

/** Formats a duration in milliseconds. */
export function formatDuration(ms: number | undefined): string {
  if (ms === undefined) return '–';
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  return `${(ms / 3_600_000).toFixed(1)} h`;
}

/** Formats an amount in US dollars. Costs of single turns are fractions of a cent. */
export function formatUsd(usd: number | undefined): string {
  return usd === undefined ? '–' : `$${usd.toFixed(usd < 1 ? 5 : 2)}`;
}

const number = new Intl.NumberFormat();

export function formatCount(count: number | undefined): string {
  return count === undefined ? '–' : number.format(count);
}

const MAX_NAMES = 20;

/** Renders the first names of a list that may be long, and how many more there are. */
export function formatSome(names: readonly string[]): string {
  const more = names.length - MAX_NAMES;
  return names.slice(0, MAX_NAMES).join(', ') + (more > 0 ? ` and ${formatCount(more)} more` : '');
}

const MAX_CELL_CHARS = 200;

/** Renders any value as one line of text. */
export function formatValue(value: unknown): string {
  if (value === undefined || value === null) return '–';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > MAX_CELL_CHARS ? `${text.slice(0, MAX_CELL_CHARS)}…` : text;
}

/** Returns the message and the id that an operator needs to find the failure in the logs. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { requestId, retryAfterMs } = (error as { data?: { requestId?: string; retryAfterMs?: number } }).data ?? {};
  const wait = retryAfterMs === undefined ? '' : `. Try again in ${formatDuration(retryAfterMs)}`;
  return `${error.message}${wait}${requestId ? ` (request ${requestId})` : ''}`;
}
