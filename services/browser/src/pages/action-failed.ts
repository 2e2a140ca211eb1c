export const ACTION_TIMEOUT_MS = 8_000;

/** A problem on the page, which is part of the result. */
export class ActionFailed extends Error {}
