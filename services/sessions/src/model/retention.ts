export const DAY_MS = 86_400_000;

/** How long a response is kept. */
export const RESPONSE_TTL_MS = 30 * DAY_MS;
