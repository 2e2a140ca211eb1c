import { test } from 'node:test';
import { compareWithLedger } from './usage-ledger.fixture.ts';

test('recorded usage equals the ledger of the model without a kill', () => compareWithLedger({ turns: 60, completions: 60, kills: 0 }));

test('recorded usage equals the ledger of the model when processes are killed during their calls', () =>
  compareWithLedger({ turns: 360, completions: 60, kills: 2 }));

test('recorded usage equals the ledger of the model when the bus loses messages and a process is killed', () =>
  compareWithLedger({ turns: 60, completions: 30, kills: 1, loss: 0.1 }));
