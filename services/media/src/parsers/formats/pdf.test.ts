import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDocument } from '../parse-document.ts';
import type { ParseRequest } from '../protocol/protocol.ts';
import { createPdf } from './pdf-files.fixture.ts';

const REQUEST: ParseRequest = { mode: 'document', maxChars: 10_000, maxPages: 20, allowedTypes: ['application/pdf'] };
/** Text in this font needs one of the character maps that pdf.js ships. */
const JAPANESE_FONT =
  '<< /Type /Font /Subtype /Type0 /BaseFont /HeiseiMin-W3 /Encoding /90ms-RKSJ-H /DescendantFonts [<< /Type /Font /Subtype /CIDFontType0 /BaseFont /HeiseiMin-W3 /CIDSystemInfo << /Registry (Adobe) /Ordering (Japan1) /Supplement 2 >> /DW 1000 >>] >>';
const ENCRYPTION = `<< /Filter /Standard /V 1 /R 2 /P -4 /O <${'aa'.repeat(32)}> /U <${'bb'.repeat(32)}> >>`;

const parse = (file: Buffer, request: Partial<ParseRequest> = {}) => parseDocument(new Uint8Array(file), { ...REQUEST, ...request });

test('reads the lines of a PDF with the marks of its pages', async () => {
  const { text, pageCount, truncated, notice } = await parse(createPdf([['The train leaves', 'at nine.'], ['It arrives at noon.']]));
  assert.equal(text, '[page 1]\n\nThe train leaves\nat nine.\n\n[page 2]\n\nIt arrives at noon.');
  assert.deepEqual([pageCount, truncated, notice], [2, false, undefined]);
});

test('stops at the limit of pages and says so', async () => {
  const { text, pageCount, truncated } = await parse(createPdf([['one'], ['two'], ['three']]), { maxPages: 2 });
  assert.deepEqual([text, pageCount, truncated], ['[page 1]\n\none\n\n[page 2]\n\ntwo', 3, true]);
});

test('reads Japanese text by the character maps of the library', async () => {
  // 東京 in Shift JIS.
  const { text } = await parse(createPdf([['<938c8b9e>']], { font: JAPANESE_FONT }));
  assert.equal(text, '[page 1]\n\n東京');
});

test('names a scan', async () => {
  const { text, notice, pageCount } = await parse(createPdf([[], []], { hasPicture: true }));
  assert.deepEqual([text, notice, pageCount], ['', 'scanned', 2]);
});

test('names a password', async () => {
  const trailer = `/Encrypt {n} 0 R /ID [<${'00'.repeat(16)}> <${'00'.repeat(16)}>]`;
  const file = createPdf([['secret']], { objects: [ENCRYPTION], trailer });
  await assert.rejects(parse(file), { kind: 'encrypted', message: 'the document is protected by a password' });
});

test('names damage', async () => {
  await assert.rejects(parse(Buffer.from('%PDF-1.7\nnothing more')), /Invalid PDF structure/);
});

test('reads lines that run upwards, and keeps words apart that are drawn over each other', async () => {
  const upwards = 'BT /F1 10 Tf 0 1 -1 0 300 300 Tm (Platform) Tj 0 1 -1 0 300 345 Tm (seven) Tj 0 1 -1 0 320 300 Tm (Track two) Tj ET';
  const stamp = 'BT /F1 10 Tf 1 0 0 1 40 100 Tm (Paid) Tj 1 0 0 1 40 100 Tm (Void) Tj ET';
  const { text } = await parse(createPdf([[]], { drawing: `${upwards} ${stamp}` }));
  assert.equal(text, '[page 1]\n\nPlatform seven\n\nTrack two\n\nPaid Void');
});

test('reads notes with their authors, and targets of links that the text does not name', async () => {
  const link = (url: string): string => `<< /Type /Annot /Subtype /Link /Rect [0 0 9 9] /A << /S /URI /URI (${url}) >> >>`;
  const note = '<< /Type /Annot /Subtype /Text /Rect [0 0 9 9] /T (Ada) /Contents (Check the track) >>';
  const annotations = [
    note,
    link('https://example.com/plan'),
    link('https://example.com/plan'),
    link('https://oslo.example/'),
    link('javascript:1'),
  ];
  const { text } = await parse(createPdf([['See oslo.example']], { annotations }));
  assert.equal(text, '[page 1]\n\nSee oslo.example\n\nAda: Check the track\n\nLinks:\n- https://example.com/plan');
});
