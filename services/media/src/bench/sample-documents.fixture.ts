import { utils, write } from '@e965/xlsx';
import { docx } from '../parsers/formats/office-files.fixture.ts';
import { createPdf } from '../parsers/formats/pdf-files.fixture.ts';

const SENTENCE = 'The train to the north leaves at nine in the morning and arrives before the shops have closed.';
const LINES_PER_PAGE = 45;
const PAGES = 20;
const PARAGRAPHS = 1_000;
const ROWS = 5_000;

/** Documents of the size that people send: twenty pages, a thousand paragraphs, and a sheet of 5,000 rows. */
export const DOCUMENTS: Readonly<Record<string, () => Buffer>> = { pdf: createLongPdf, docx: createDocx, xlsx: createXlsx };

function createLongPdf(): Buffer {
  return createPdf(
    Array.from({ length: PAGES }, (_, page) => Array.from({ length: LINES_PER_PAGE }, (_line, at) => `${page}.${at} ${SENTENCE}`)),
  );
}

function createDocx(): Buffer {
  return docx(Array.from({ length: PARAGRAPHS }, (_, at) => `<w:p><w:r><w:t>${at}. ${SENTENCE}</w:t></w:r></w:p>`).join(''));
}

function createXlsx(): Buffer {
  const book = utils.book_new();
  const rows = Array.from({ length: ROWS }, (_, at) => [at, `Item ${at}`, at * 1.25, at % 2 === 0 ? 'open' : 'closed']);
  utils.book_append_sheet(book, utils.aoa_to_sheet([['Number', 'Name', 'Price', 'State'], ...rows]), 'Items');
  return write(book, { type: 'buffer', bookType: 'xlsx' }) as Buffer;
}
