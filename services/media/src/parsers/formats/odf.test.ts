import assert from 'node:assert/strict';
import { test } from 'node:test';
import { utils, write } from '@e965/xlsx';
import { parseDocument } from '../parse-document.ts';
import type { ParseRequest } from '../protocol/protocol.ts';
import { zipWithType } from './office-files.fixture.ts';

const TEXT = 'application/vnd.oasis.opendocument.text';
const SLIDES = 'application/vnd.oasis.opendocument.presentation';
const SHEETS = 'application/vnd.oasis.opendocument.spreadsheet';
const REQUEST: ParseRequest = { mode: 'document', maxChars: 10_000, maxPages: 20, allowedTypes: [TEXT, SLIDES, SHEETS] };
const NAMESPACES = 'xmlns:office="o" xmlns:text="t" xmlns:style="s" xmlns:draw="d"';

const parse = (file: Buffer, request: Partial<ParseRequest> = {}) => parseDocument(new Uint8Array(file), { ...REQUEST, ...request });

function content(body: string): string {
  return `<office:document-content ${NAMESPACES}><office:body>${body}</office:body></office:document-content>`;
}

/** The styles of a document: a page style for each header and footer. */
function styles(...pages: { header: string; footer: string }[]): string {
  const masters = pages.map(
    ({ header, footer }) =>
      `<style:master-page><style:header><text:p>${header}</text:p></style:header><style:footer><text:p>${footer}</text:p></style:footer></style:master-page>`,
  );
  return `<office:document-styles ${NAMESPACES}><office:master-styles>${masters.join('')}</office:master-styles></office:document-styles>`;
}

test('reads the headers and footers of an OpenDocument text behind its body, repeated ones once', async () => {
  const file = zipWithType(TEXT, {
    'content.xml': content('<office:text><text:p>The body.</text:p></office:text>'),
    'styles.xml': styles({ header: 'The yard', footer: 'Internal' }, { header: 'The yard', footer: 'Page <text:s/>two' }),
  });
  const { text, mimeType } = await parse(file);
  assert.equal(mimeType, TEXT);
  assert.equal(text, 'The body.\n\nHeaders:\n- The yard\n\nFooters:\n- Internal\n- Page  two');
});

test('an OpenDocument text without headers has no section for them', async () => {
  const body = content('<office:text><text:p>The body.</text:p></office:text>');
  const empty = styles({ header: '', footer: '' });
  assert.equal((await parse(zipWithType(TEXT, { 'content.xml': body, 'styles.xml': empty }))).text, 'The body.');
  assert.equal((await parse(zipWithType(TEXT, { 'content.xml': body }))).text, 'The body.');
});

test('reads the slides of an OpenDocument presentation with their marks and stops at the limit of pages', async () => {
  const slide = (title: string): string =>
    `<draw:page><draw:frame><draw:text-box><text:p>${title}</text:p></draw:text-box></draw:frame></draw:page>`;
  const body = content(`<office:presentation>${slide('One')}${slide('Two')}${slide('Three')}</office:presentation>`);
  const { text, pageCount, truncated } = await parse(zipWithType(SLIDES, { 'content.xml': body }), { maxPages: 2 });
  assert.deepEqual([text, pageCount, truncated], ['[slide 1]\n\nOne\n\n[slide 2]\n\nTwo', 3, true]);
});

test('reads the sheets of an OpenDocument spreadsheet', async () => {
  const book = utils.book_new();
  utils.book_append_sheet(
    book,
    utils.aoa_to_sheet([
      ['Stop', 'Time'],
      ['Oslo', '9:00'],
    ]),
    'Trains',
  );
  const { text, mimeType } = await parse(write(book, { type: 'buffer', bookType: 'ods' }) as Buffer);
  assert.deepEqual([mimeType, text], [SHEETS, '## Trains\n\n| Stop | Time |\n| --- | --- |\n| Oslo | 9:00 |']);
});

test('names the password of an OpenDocument file', async () => {
  const manifest =
    '<manifest:manifest xmlns:manifest="m"><manifest:file-entry><manifest:encryption-data/></manifest:file-entry></manifest:manifest>';
  const file = zipWithType(TEXT, { 'META-INF/manifest.xml': manifest, 'content.xml': 'encrypted bytes' });
  await assert.rejects(parse(file), { kind: 'encrypted', message: 'the document is protected by a password' });
});

test('reads comments with their authors, and keeps the words of notes and frames apart', async () => {
  const comment = '<office:annotation><dc:creator xmlns:dc="c">Ada</dc:creator><text:p>Check it</text:p></office:annotation>';
  const note =
    '<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>At night</text:p></text:note-body></text:note>';
  const body = content(`<office:text><text:p>The train${comment} leaves${note}at nine.</text:p></office:text>`);
  const { text } = await parse(zipWithType(TEXT, { 'content.xml': body }));
  assert.equal(text, 'The train leaves1 At night at nine.\n\nComments:\n- Ada: Check it');
});
