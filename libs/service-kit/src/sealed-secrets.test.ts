import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withoutHidden } from '@switchyard/telemetry';
import { createSecretSealer, openSecretAsking } from './sealed-secrets.ts';

test('a value opens under the name that it was sealed for, also within one call', () => {
  const [asking, sealFor] = [openSecretAsking('gateway'), createSecretSealer()];
  const to = asking.asker();
  const sealed = sealFor('ONE', 'the value of one', to);
  assert.equal(asking.open('ONE', sealed, to), 'the value of one');
  assert.throws(() => asking.open('OTHER', sealed, to), { code: 'DATA_LOSS' });
});

test('what was opened is shown by nothing that this process says', () => {
  const asking = openSecretAsking('gateway');
  const to = asking.asker();
  const value = 'quince and wren, twice';
  assert.equal(withoutHidden(value, '-'), value);
  asking.open('ONE', createSecretSealer()('ONE', value, to), to);
  assert.equal(withoutHidden(`they said ${value}.`, '-'), 'they said -.');
});
