/** An event of typical length. */
export const EVENT = Buffer.from(JSON.stringify({ sessionKey: 'x'.repeat(60), timestamp: 1_763_719_200_000, note: 'y'.repeat(150) }));

export const STREAM = { maxAgeMs: 60_000, storage: 'file' } as const;
