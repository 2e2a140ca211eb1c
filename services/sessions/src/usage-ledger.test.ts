import { test } from 'node:test';
import { compareWithLedger } from './usage-ledger.fixture.ts';

test('recorded usage equals the ledger of the model without a kill', () => compareWithLedger({ turns: 60, completions: 60, kills: 0 }));

test('recorded usage equals the ledger of the model when processes are killed during their calls', () =>
  compareWithLedger({ turns: 360, completions: 60, kills: 2 }));
