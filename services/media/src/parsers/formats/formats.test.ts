import assert from 'node:assert/strict';
import { test } from 'node:test';
import { utils, write } from '@e965/xlsx';
import { parseDocument } from '../parse-document.ts';
import type { DocumentRefusal, ParsedDocument, ParseRequest } from '../protocol/protocol.ts';
import { CONTENT_TYPES, docx, RELS, SLIDES_TYPE, WORD_TYPE, zip, zipWithType } from './office-files.fixture.ts';

const EVERY_TYPE = { includes: () => true } as unknown as readonly string[];
const REQUEST: ParseRequest = { mode: 'document', maxChars: 10_000, maxPages: 20, allowedTypes: EVERY_TYPE };

async function parse(bytes: Buffer | string, request: Partial<ParseRequest> = {}): Promise<ParsedDocument> {
  return parseDocument(new Uint8Array(Buffer.from(bytes as string)), { ...REQUEST, ...request });
}

async function refusal(bytes: Buffer): Promise<DocumentRefusal> {
  return parse(bytes).then(
    ({ text }) => assert.fail(`it has the text ${text}`),
    (error: DocumentRefusal) => error,
  );
}

test('reads the table of a Word document', async () => {
  const cell = (text: string): string => `<w:tc><w:p><w:r><w:t>${text}</w:t></w:r></w:p></w:tc>`;
  const row = (...cells: string[]): string => `<w:tr>${cells.map(cell).join('')}</w:tr>`;
  const { text, mimeType } = await parse(
    docx(`<w:p><w:r><w:t>Departures</w:t></w:r></w:p><w:tbl>${row('Train', 'Track')}${row('R10', '3')}</w:tbl>`),
  );
  assert.equal(text, 'Departures\n\n| Train | Track |\n| --- | --- |\n| R10 | 3 |');
  assert.match(mimeType, /wordprocessingml/);
});

test('reads sheets with their names, and one cell in the last row as one cell', async () => {
  const book = utils.book_new();
  utils.book_append_sheet(
    book,
    utils.aoa_to_sheet([
      ['Train', 'Track'],
      ['R10', 3],
    ]),
    'Plan',
  );
  utils.book_append_sheet(book, { A1048576: { t: 's', v: 'last' }, '!ref': 'A1:A1048576' }, 'Deep');
  const { text, pageCount } = await parse(write(book, { type: 'buffer', bookType: 'xlsx' }) as Buffer);
  assert.deepEqual([text, pageCount], ['## Plan\n\n| Train | Track |\n| --- | --- |\n| R10 | 3 |\n\n## Deep\n\nlast', 2]);
  const first = await parse(write(book, { type: 'buffer', bookType: 'xlsx' }) as Buffer, { maxPages: 1 });
  assert.deepEqual([first.truncated, first.text.includes('Deep')], [true, false]);
});

test('reads slides in the order of the presentation, with notes', async () => {
  const slide = (title: string): string =>
    `<p:sld xmlns:p="p" xmlns:a="a"><p:cSld><p:spTree><p:sp><p:nvSpPr><p:nvPr><p:ph type="title"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>${title}</a:t></a:r></a:p></p:txBody></p:sp><p:sp><p:txBody><a:p><a:r><a:t>Body of ${title}</a:t></a:r></a:p></p:txBody></p:sp></p:spTree></p:cSld></p:sld>`;
  const file = zip({
    '[Content_Types].xml': CONTENT_TYPES('/ppt/presentation.xml', SLIDES_TYPE),
    '_rels/.rels': RELS('ppt/presentation.xml'),
    'ppt/presentation.xml':
      '<p:presentation xmlns:p="p" xmlns:r="r"><p:sldIdLst><p:sldId r:id="b"/><p:sldId r:id="a"/></p:sldIdLst></p:presentation>',
    'ppt/_rels/presentation.xml.rels':
      '<Relationships><Relationship Id="a" Target="slides/slide1.xml"/><Relationship Id="b" Target="slides/slide2.xml"/></Relationships>',
    'ppt/slides/slide1.xml': slide('One'),
    'ppt/slides/slide2.xml': slide('Two'),
    'ppt/slides/_rels/slide2.xml.rels': '<Relationships><Relationship Id="n" Target="../notesSlides/notesSlide1.xml"/></Relationships>',
    'ppt/notesSlides/notesSlide1.xml':
      '<p:notes xmlns:p="p" xmlns:a="a"><p:sp><p:nvSpPr><p:nvPr><p:ph type="body"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>Say it.</a:t></a:r></a:p></p:txBody></p:sp></p:notes>',
  });
  const { text, pageCount } = await parse(file);
  assert.deepEqual([text, pageCount], ['[slide 1]\n\n## Two\n\nBody of Two\n\nNotes: Say it.\n\n[slide 2]\n\n## One\n\nBody of One', 2]);
});

test('reads a text of OpenDocument with headings, lists, links and tables', async () => {
  const content = `<office:document-content xmlns:office="o" xmlns:text="t" xmlns:table="b" xmlns:xlink="x"><office:body><office:text><text:h text:outline-level="2">Plan</text:h><text:p>See<text:s text:c="2"/><text:a xlink:href="https://oslo.example/">Oslo</text:a></text:p><text:list><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>two</text:p></text:list-item></text:list></text:list-item></text:list><table:table><table:table-row><table:table-cell><text:p>A</text:p></table:table-cell><table:table-cell><text:p>B</text:p></table:table-cell></table:table-row><table:table-row><table:table-cell><text:p>1</text:p></table:table-cell><table:table-cell><text:p>2</text:p></table:table-cell></table:table-row></table:table></office:text></office:body></office:document-content>`;
  const { text } = await parse(zipWithType('application/vnd.oasis.opendocument.text', { 'content.xml': content }));
  assert.equal(text, '## Plan\n\nSee  [Oslo](https://oslo.example/)\n\n- one\n  - two\n\n| A | B |\n| --- | --- |\n| 1 | 2 |');
});

test('reads the chapters of a book in reading order', async () => {
  const files = {
    'META-INF/container.xml': '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
    'OEBPS/book.opf':
      '<package xmlns:dc="d"><metadata><dc:title>The yard</dc:title></metadata><manifest><item id="a" href="a.xhtml"/><item id="b" href="b%20c.xhtml"/></manifest><spine><itemref idref="b"/><itemref idref="a"/></spine></package>',
    'OEBPS/a.xhtml': '<?xml version="1.0"?><html><body><h1>End</h1></body></html>',
    'OEBPS/b c.xhtml': '<?xml version="1.0"?><html><body><h1>Begin</h1></body></html>',
  };
  const { text, title } = await parse(zipWithType('application/epub+zip', files));
  assert.deepEqual([text, title], ['# Begin\n\n# End', 'The yard']);
});

test('reads a message and names its attachments', async () => {
  const mail = [
    'From: Ane <ane@yard.example>',
    'To: bo@yard.example',
    'Subject: =?utf-8?q?T=C3=B8g?=',
    'Content-Type: multipart/mixed; boundary=x',
    '',
    '--x',
    'Content-Type: text/html; charset=utf-8',
    '',
    '<p>It leaves at <b>nine</b>.</p>',
    '--x',
    'Content-Type: application/pdf; name=plan.pdf',
    'Content-Disposition: attachment; filename=plan.pdf',
    '',
    'JVBERi0=',
    '--x--',
    '',
  ].join('\r\n');
  const { text, mimeType } = await parse(mail);
  assert.equal(mimeType, 'message/rfc822');
  assert.match(text, /^# Tøg\n\nFrom: Ane <ane@yard\.example>\nTo: bo@yard\.example\nAttachments: plan\.pdf\n\n.*nine/);
});

test('refuses archives above the limits, counted while inflating', async () => {
  const bomb = docx('', { 'word/bomb.bin': Buffer.alloc(20 * 1024 * 1024) });
  assert.equal((await refusal(bomb)).kind, 'limit');
  const lying = zip(
    {
      '[Content_Types].xml': CONTENT_TYPES('/word/document.xml', WORD_TYPE),
      'word/document.xml': '<a/>',
      'x.bin': Buffer.alloc(20 * 1024 * 1024),
    },
    { claimedSize: 10 },
  );
  assert.ok(['limit', 'damaged'].includes((await refusal(lying)).kind));
  const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, at) => [`word/${at}.xml`, 'x']));
  const { kind, message } = await refusal(docx('', many));
  assert.equal(kind, 'limit');
  assert.match(message, /at most 1000 are read/);
});

test('refuses names that lead out of the archive, passwords and damage', async () => {
  assert.equal((await refusal(docx('', { '../../etc/passwd': 'x' }))).kind, 'path');
  const locked = zip({ '[Content_Types].xml': CONTENT_TYPES('/word/document.xml', WORD_TYPE), 'word/document.xml': '<a/>' }, { flags: 0 });
  locked.writeUInt16LE(1, locked.indexOf(Buffer.from([0x50, 0x4b, 0x01, 0x02])) + 8);
  assert.ok(['encrypted', 'damaged'].includes((await refusal(locked)).kind));
  assert.equal((await refusal(docx('').subarray(0, 200))).kind, 'damaged');
  assert.match((await refusal(Buffer.from('%PDF-1.7\nnothing more'))).message, /Invalid PDF/);
});

test('defines no entity of a document', async () => {
  const svg =
    '<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY a "AAAAAAAAAA"><!ENTITY b "&a;&a;&a;"><!ENTITY c SYSTEM "file:///etc/passwd">]><svg xmlns="http://www.w3.org/2000/svg"><text>&b;&c; visible</text></svg>';
  const { text } = await parse(svg);
  assert.ok(text.includes('visible') && !/AAAAA|root:/.test(text), text);
});

test('keeps an archive inside of an archive closed', async () => {
  const inner = zip({ 'secret.txt': 'secret' });
  const { text } = await parse(docx('<w:p><w:r><w:t>outer</w:t></w:r></w:p>', { 'word/inner.zip': inner }));
  assert.equal(text, 'outer');
  assert.equal((await refusal(zip({ 'a.zip': inner }))).kind, 'unsupported');
});
