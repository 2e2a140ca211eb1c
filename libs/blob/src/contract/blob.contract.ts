import { describe } from 'node:test';
import { boundsContract } from './limits.contract.ts';
import { expiryContract } from './expiry.contract.ts';
import type { OpenBlobs } from './fixture.contract.ts';
import { readingContract } from './reading.contract.ts';
import { writingContract } from './writing.contract.ts';

/** What a blob store promises, wherever the bytes are and whatever is between. Opening a place again finds what was kept there. */
export function blobContract(name: string, open: OpenBlobs): void {
  describe(`blobs ${name}`, () => {
    writingContract(open);
    readingContract(open);
    boundsContract(open);
    expiryContract(open);
  });
}
