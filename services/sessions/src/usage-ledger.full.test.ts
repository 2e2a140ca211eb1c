import { test } from 'node:test';
import { compareWithLedger } from './usage-ledger.fixture.ts';

test('recorded usage equals the ledger over 2,000 turns and 2,000 stateless calls with kills and lost messages', { timeout: 600_000 }, () =>
  compareWithLedger({ turns: 2_000, completions: 2_000, kills: 10, loss: 0.1 }),
);
