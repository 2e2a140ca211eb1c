import assert from 'node:assert/strict';
import { test } from 'node:test';
import { utils, write } from '@e965/xlsx';
import { parseDocument } from '../parse-document.ts';
import type { ParseRequest } from '../protocol/protocol.ts';
import { readZip } from '../text/zip.ts';
import { CONTENT_TYPES, docx, RELS, SLIDES_TYPE, zip } from './office-files.fixture.ts';

const EVERY_TYPE = { includes: () => true } as unknown as readonly string[];
const REQUEST: ParseRequest = { mode: 'document', maxChars: 10_000, maxPages: 20, allowedTypes: EVERY_TYPE };

async function readText(bytes: Buffer | string): Promise<string> {
  return (await parseDocument(new Uint8Array(Buffer.from(bytes as string)), REQUEST)).text;
}

const W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';
const paragraph = (text: string): string => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`;
const DIAGRAM =
  '<dgm:dataModel xmlns:dgm="d" xmlns:a="a"><dgm:pt><dgm:t><a:p><a:r><a:t>Signal</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:dataModel>';
const CHART =
  '<c:chartSpace xmlns:c="c" xmlns:a="a"><c:chart><c:title><a:p><a:r><a:t>Delays</a:t></a:r></a:p></c:title><c:ser><c:cat><c:v>May</c:v></c:cat><c:val><c:v>7</c:v></c:val></c:ser></c:chart></c:chartSpace>';

test('reads headers, footers, comments, diagrams and charts of a Word document, repeated headers once', async () => {
  const header = `<w:hdr ${W}>${paragraph('Oslo S')}</w:hdr>`;
  const file = docx(paragraph('Departures'), {
    'word/header1.xml': header,
    'word/header2.xml': header,
    'word/footer1.xml': `<w:ftr ${W}><w:p><w:r><w:t>Page</w:t><w:tab/><w:t>one</w:t></w:r></w:p></w:ftr>`,
    'word/comments.xml': `<w:comments ${W}><w:comment w:id="1" w:author="Ada">${paragraph('Check the track')}</w:comment></w:comments>`,
    'word/diagrams/data1.xml': DIAGRAM,
    'word/charts/chart1.xml': CHART,
  });
  assert.equal(
    await readText(file),
    'Departures\n\nHeaders:\n- Oslo S\n\nFooters:\n- Page one\n\nComments:\n- Ada: Check the track\n\nDiagrams:\n- Signal\n\nCharts:\n- Delays\n- May, 7',
  );
});

test('reads text that stands in a phonetic guide only', async () => {
  const ruby = '<w:p><w:r><w:ruby><w:rubyBase><w:r><w:t>東京</w:t></w:r></w:rubyBase></w:ruby></w:r></w:p>';
  assert.equal(await readText(docx(ruby)), '東京');
});

test('reads masters, comments, diagrams and charts of a presentation', async () => {
  const slide =
    '<p:sld xmlns:p="p" xmlns:a="a"><p:cSld><p:spTree><p:sp><p:txBody><a:p><a:r><a:t>Yard</a:t></a:r></a:p></p:txBody></p:sp></p:spTree></p:cSld></p:sld>';
  const file = zip({
    '[Content_Types].xml': CONTENT_TYPES('/ppt/presentation.xml', SLIDES_TYPE),
    '_rels/.rels': RELS('ppt/presentation.xml'),
    'ppt/presentation.xml': '<p:presentation xmlns:p="p"/>',
    'ppt/slides/slide1.xml': slide,
    'ppt/slideMasters/slideMaster1.xml':
      '<p:sldMaster xmlns:p="p" xmlns:a="a"><p:sp><p:nvPr><p:ph/></p:nvPr><a:p><a:r><a:t>Click</a:t></a:r></a:p></p:sp><p:sp><a:p><a:r><a:t>Oslo S</a:t></a:r></a:p></p:sp></p:sldMaster>',
    'ppt/commentAuthors.xml': '<p:cmAuthorLst xmlns:p="p"><p:cmAuthor id="0" name="Ada"/></p:cmAuthorLst>',
    'ppt/comments/comment1.xml': '<p:cmLst xmlns:p="p"><p:cm authorId="0"><p:text>Too long</p:text></p:cm></p:cmLst>',
    'ppt/diagrams/data1.xml': DIAGRAM,
    'ppt/charts/chart1.xml': CHART,
  });
  assert.equal(
    await readText(file),
    '[slide 1]\n\nYard\n\nSlide master:\n- Oslo S\n\nComments:\n- Ada: Too long\n\nDiagrams:\n- Signal\n\nCharts:\n- Delays\n- May, 7',
  );
});

test('reads comments of cells', async () => {
  const sheet = utils.aoa_to_sheet([['R10']]);
  utils.cell_add_comment(sheet['A1'], 'Late again', 'Ada');
  const book = utils.book_new();
  utils.book_append_sheet(book, sheet, 'Plan');
  assert.equal(
    await readText(write(book, { type: 'buffer', bookType: 'xlsx' }) as Buffer),
    '## Plan\n\nR10\n\nComments:\n- Ada: Late again',
  );
});

test('keeps the targets of links and the digits of long numbers', async () => {
  const sheet = utils.aoa_to_sheet([['The plan', 123_456_789_012_345]]);
  utils.cell_set_hyperlink(sheet['A1'], 'https://example.com/plan');
  const book = utils.book_new();
  utils.book_append_sheet(book, sheet, 'Plan');
  const text = await readText(write(book, { type: 'buffer', bookType: 'xlsx' }) as Buffer);
  assert.equal(text, '## Plan\n\n[The plan](https://example.com/plan) 123456789012345');
});

test('removes soft hyphens', async () => {
  assert.equal(await readText(docx(paragraph('time\u00ADtable'))), 'timetable');
});

test('names the password of an Office document', async () => {
  const head = Buffer.alloc(2_048);
  Buffer.from('d0cf11e0a1b11ae1', 'hex').copy(head);
  await assert.rejects(readText(head), { kind: 'unsupported' });
  head.write('EncryptedPackage', 1_024, 'utf16le');
  await assert.rejects(readText(head), { kind: 'encrypted', message: 'the document is protected by a password' });
});

test('reads shapes and charts of a workbook', async () => {
  const book = utils.book_new();
  utils.book_append_sheet(book, utils.aoa_to_sheet([['R10']]), 'Plan');
  const files = await readZip(new Uint8Array(write(book, { type: 'buffer', bookType: 'xlsx' }) as Buffer));
  const shape = '<xdr:wsDr xmlns:xdr="x" xmlns:a="a"><a:p><a:r><a:t>Track 3 is closed</a:t></a:r></a:p></xdr:wsDr>';
  const more = { 'xl/drawings/drawing1.xml': shape, 'xl/diagrams/data1.xml': DIAGRAM, 'xl/charts/chart1.xml': CHART };
  const text = await readText(zip({ ...Object.fromEntries(files), ...more }));
  assert.equal(text, '## Plan\n\nR10\n\nShapes:\n- Track 3 is closed\n\nDiagrams:\n- Signal\n\nCharts:\n- Delays\n- May, 7');
});

test('gives a page its title, unless its text has it', async () => {
  const page = (title: string): string =>
    `<!doctype html><html><head><title>${title}</title></head><body><p>Track 3 is closed.</p></body></html>`;
  assert.equal(await readText(page('Oslo S')), '# Oslo S\n\nTrack 3 is closed.');
  assert.equal(await readText(page('Track 3')), 'Track 3 is closed.');
});

test('finds a charset that is declared behind a long preamble', async () => {
  const head = `<!doctype html><html><head><!-- ${'x'.repeat(8_000)} --><meta charset="windows-1251"></head><body>`;
  const word = Buffer.from([0xcf, 0xf3, 0xf2, 0xfc]);
  assert.equal(await readText(Buffer.concat([Buffer.from(head), word]) as unknown as Buffer), 'Путь');
});
