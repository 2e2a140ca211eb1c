const MAX_CHARS = 300;
const LOOKS_LIKE_A_KEY = /\b(?:sk|pk|rk|gsk|xai|key|AIza)[-_]?[A-Za-z0-9*_-]{12,}|\bBearer\s+\S+/g;

/** Shorter ones stand in innocent words, and guard nothing. */
const MIN_SECRET_CHARS = 6;
/** What an upstream says may be as long as it likes; only its beginning is looked at. */
const MAX_READ_CHARS = 4_096;

/** What an upstream said, fit to be shown: one line, short, and without what is secret or looks like a key. */
export function scrub(said: string, secrets: readonly (string | undefined)[]): string {
  const text = said.slice(0, MAX_READ_CHARS);
  const known = secrets.filter((secret) => secret !== undefined && secret.length >= MIN_SECRET_CHARS);
  const without = known.reduce<string>((left, secret) => left.replaceAll(String(secret), '[REDACTED]'), text);
  const line = without.replace(LOOKS_LIKE_A_KEY, '[REDACTED]').replace(/\s+/g, ' ').trim();
  return line.length > MAX_CHARS ? `${line.slice(0, MAX_CHARS)}…` : line;
}
