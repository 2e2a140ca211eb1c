import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSource, putBlob } from '@switchyard/blob';
import { principal } from '@switchyard/testkit';
import { testMedia } from '../media.fixture.ts';
import { createPdf } from '../parsers/formats/pdf-files.fixture.ts';

const TIMEOUT = { timeout: 60_000 };

test('a document whose pages are pictures is named a scan, as a result and as an attachment of a message', TIMEOUT, async () => {
  await using app = await testMedia();
  const blobs = (await app.host.blobs()).for(principal());
  const blob = await putBlob(blobs, createSource(createPdf([[], []], { hasPicture: true })), { contentType: 'application/pdf' });
  const { text, notice, pageCount } = await app.bus.call('media.extract_document', { attachment_url: `/media/${blob.id}` });
  assert.deepEqual([text, notice, pageCount], ['', 'scanned', 2]);
  const sessions = await app.host.connect('sessions');
  const { parts } = await sessions.as(principal()).call('media.prepare', {
    agentId: 'default',
    attachments: [{ blob, name: 'scan.pdf', contentType: 'application/pdf' }],
  });
  assert.deepEqual(parts, [{ kind: 'document', text: '', notice: 'the document is a scan: its pages are pictures without text' }]);
});
