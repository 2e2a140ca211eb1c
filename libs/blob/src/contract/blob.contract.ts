import { describe } from 'node:test';
import { expiryContract } from './expiry.contract.ts';
import type { OpenBlobs } from './fixture.contract.ts';
import { keepingContract } from './keeping.contract.ts';
import { limitsContract } from './limits.contract.ts';
import { readingContract } from './reading.contract.ts';
import { writingContract } from './writing.contract.ts';

/** Registers the tests that every blob store must pass. */
export function blobContract(name: string, open: OpenBlobs): void {
  describe(`blob store ${name}`, () => {
    writingContract(open);
    readingContract(open);
    limitsContract(open);
    expiryContract(open);
    keepingContract(open);
  });
}
