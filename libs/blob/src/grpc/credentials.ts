import { createHash, timingSafeEqual } from 'node:crypto';
import { Metadata } from '@grpc/grpc-js';
import { ServiceError } from '@switchyard/contracts';

const AUTHORIZATION = 'authorization';
const SCHEME = 'Bearer ';

/** Creates the metadata that authenticates a call. */
export function createTokenMetadata(token: string): Metadata {
  const metadata = new Metadata();
  metadata.set(AUTHORIZATION, SCHEME + token);
  return metadata;
}

/** Returns a function that throws UNAUTHENTICATED for calls without the token. */
export function createTokenGuard(token: string): (metadata: Metadata) => void {
  const expected = computeDigest(SCHEME + token);
  return (metadata) => {
    const [received] = metadata.get(AUTHORIZATION);
    // Digests have equal lengths, which `timingSafeEqual` requires.
    if (typeof received === 'string' && timingSafeEqual(computeDigest(received), expected)) return;
    throw new ServiceError('UNAUTHENTICATED', 'The blob store requires the token of the services (SWITCHYARD_BLOB_TOKEN).', {
      details: { reason: 'BLOB_TOKEN' },
    });
  };
}

function computeDigest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
