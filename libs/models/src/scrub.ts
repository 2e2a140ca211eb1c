const MAX_CHARS = 300;
const LOOKS_LIKE_A_KEY = /\b(?:sk|pk|rk|gsk|xai|key|AIza)[-_]?[A-Za-z0-9*_-]{12,}|\bBearer\s+\S+/g;

/** What an upstream said, fit to be shown: one line, short, and without the key or anything that looks like one. */
export function scrub(text: string, key: string | undefined): string {
  const without = key === undefined || key === '' ? text : text.replaceAll(key, '[REDACTED]');
  const line = without.replace(LOOKS_LIKE_A_KEY, '[REDACTED]').replace(/\s+/g, ' ').trim();
  return line.length > MAX_CHARS ? `${line.slice(0, MAX_CHARS)}…` : line;
}
