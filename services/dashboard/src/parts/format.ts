const date = new Intl.DateTimeFormat(undefined, { dateStyle: 'short', timeStyle: 'medium' });

/** Formats epoch milliseconds or an ISO time. */
export function formatTime(time: number | string | undefined): string {
  return time === undefined ? '–' : date.format(new Date(time));
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
  const { requestId } = (error as { data?: { requestId?: string } }).data ?? {};
  return requestId ? `${error.message} (request ${requestId})` : error.message;
}
