/** So long takes an operation at most, with everything that the driver repeats in it. */
export const OPERATION_TIMEOUT_MS = 10_000;

/** What the server itself stops after; less, so that its word comes first. */
export const SERVER_TIMEOUT = { maxTimeMS: 8_000 } as const;
