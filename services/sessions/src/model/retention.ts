export const DAY_MS = 86_400_000;

/** Retention of a response. */
export const RESPONSE_TTL_MS = 30 * DAY_MS;
