import { z } from 'zod';
import { MAX, boundedString } from './sizes.ts';

/** Maximum size of params and results of methods that name no field in `blobs`. */
export const INLINE_BYTES = 65_536;

/** The type of a field that does not ride the bus: whatever has it is between services, and no client may ask for it by its id. */
export const PAYLOAD_TYPE = 'application/vnd.switchyard.payload+json';

/** Reference to bytes in the blob store, which keeps them until they expire. Only services of the same tenant can read them. */
export const BlobRef = z.strictObject({
  id: z
    .string()
    .max(27)
    .regex(/^blob_[0-9A-Za-z]{22}$/),
  size: z.int().nonnegative(),
  sha256: z
    .string()
    .max(64)
    .regex(/^[0-9a-f]{64}$/),
  contentType: boundedString(MAX.name),
  expiresAt: z.int().nonnegative().describe('epoch milliseconds'),
  savedAt: z.int().nonnegative().optional().describe('epoch milliseconds; 0 if the store does not know'),
});
export type BlobRef = z.infer<typeof BlobRef>;
