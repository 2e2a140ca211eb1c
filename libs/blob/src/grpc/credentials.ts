import { createHash, timingSafeEqual } from 'node:crypto';
import { Metadata } from '@grpc/grpc-js';
import { ServiceError } from '@switchyard/contracts';

const AUTHORIZATION = 'authorization';
const SCHEME = 'Bearer ';

/** Goes with every call. */
export function withToken(token: string): Metadata {
  const metadata = new Metadata();
  metadata.set(AUTHORIZATION, SCHEME + token);
  return metadata;
}

/** Default deny: whoever does not say the token of the services is nobody. */
export function createGuard(token: string): (metadata: Metadata) => void {
  const expected = digest(SCHEME + token);
  return (metadata) => {
    const [given] = metadata.get(AUTHORIZATION);
    // Hashes have one length and take one time, whatever was said.
    if (typeof given === 'string' && timingSafeEqual(digest(given), expected)) return;
    throw new ServiceError('UNAUTHENTICATED', 'The blob store answers services that say its token, and nobody else.', {
      details: { reason: 'BLOB_TOKEN' },
    });
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
