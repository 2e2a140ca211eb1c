/** Limit of an operation, including the driver's retries. */
export const OPERATION_TIMEOUT_MS = 10_000;

/** Limit on the server; shorter, so that the server's error arrives first. */
export const SERVER_TIMEOUT = { maxTimeMS: 8_000 } as const;
