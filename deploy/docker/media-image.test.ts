import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startProcess, tempDir } from '@switchyard/testkit';

const ASSEMBLE = fileURLToPath(new URL('assemble.ts', import.meta.url));
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
const PDF = `%PDF-1.4
1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj
2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj
3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >> endobj
4 0 obj << /Length 62 >> stream
BT /F1 12 Tf 1 0 0 1 40 200 Tm (The train leaves at nine.) Tj ET
endstream endobj
5 0 obj << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> endobj
trailer << /Root 1 0 R >>
`;

/** Runs in the image: loads each parser, and reads a document and a picture in the processes of the service. */
const PROGRAM = `
import { readdirSync } from 'node:fs';
const media = new URL('services/media/src/', new URL('file://' + process.cwd() + '/'));
const load = (path) => import(new URL(path, media));
const formats = readdirSync(new URL('parsers/formats', media)).filter((name) => name.endsWith('.ts'));
for (const name of formats) await load('parsers/formats/' + name);
const { createDocumentParser } = await load('processes/parser-process.ts');
const { prepareImage } = await load('images/prepare-image.ts');
const { signal } = new AbortController();
const limits = { tenant: 'default', signal, timeoutMs: 60_000, mode: 'document', maxChars: 1_000, maxPages: 1, allowedTypes: ['application/pdf'] };
const { text } = await createDocumentParser(console).parse(Buffer.from(process.env.PDF, 'base64'), limits);
const { mimeType, width } = await prepareImage(new Uint8Array(Buffer.from(process.env.PNG, 'base64')), signal);
console.log(JSON.stringify({ formats: formats.length, text, mimeType, width }));
`;

test('the image of the media service loads all parsers, and reads a document and a picture', { timeout: 180_000 }, async () => {
  await using dir = await tempDir();
  const app = join(dir.path, 'app');
  await using job = await startProcess([process.execPath, ASSEMBLE, 'media', app]);
  assert.equal((await job.exited).code, 0, job.output());
  writeFileSync(join(app, 'program.mjs'), PROGRAM);
  const env = { PDF: Buffer.from(PDF).toString('base64'), PNG };
  await using run = await startProcess([process.execPath, 'program.mjs'], { cwd: app, env });
  const [, json = ''] = await run.line(/^(\{"formats".*\})$/m);
  const { formats, ...read } = JSON.parse(json) as Record<string, unknown>;
  assert.ok(Number(formats) > 5, String(formats));
  assert.deepEqual(read, { text: '[page 1]\n\nThe train leaves at nine.', mimeType: 'image/png', width: 1 });
});
