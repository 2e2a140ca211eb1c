import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withoutHidden } from '@switchyard/telemetry';
import { createSecretRecipient, encryptSecret } from './secret-encryption.ts';

const NOT_SEALED = { code: 'DATA_LOSS', details: { reason: 'NOT_SEALED' } };

test('decrypt accepts a value only under the name it was encrypted for', async () => {
  const recipient = createSecretRecipient('gateway');
  const request = recipient.createRequest();
  const jwe = await encryptSecret('ONE', 'the value of one', request);
  assert.equal(await recipient.decrypt('ONE', jwe, request), 'the value of one');
  await assert.rejects(recipient.decrypt('OTHER', jwe, request), NOT_SEALED);
});

test('decrypt rejects the answer to an earlier request and to another process', async () => {
  const [recipient, other] = [createSecretRecipient('gateway'), createSecretRecipient('gateway')];
  const request = recipient.createRequest();
  const jwe = await encryptSecret('ONE', 'the value of one', request);
  await assert.rejects(recipient.decrypt('ONE', jwe, recipient.createRequest()), NOT_SEALED);
  await assert.rejects(other.decrypt('ONE', jwe, request), NOT_SEALED);
  await assert.rejects(recipient.decrypt('ONE', 'the value of one', request), NOT_SEALED);
});

test('a decrypted value is masked in the logs of this process', async () => {
  const recipient = createSecretRecipient('gateway');
  const request = recipient.createRequest();
  const value = 'quince and wren, twice';
  assert.equal(withoutHidden(value, '-'), value);
  await recipient.decrypt('ONE', await encryptSecret('ONE', value, request), request);
  assert.equal(withoutHidden(`text ${value}.`, '-'), 'text -.');
});
