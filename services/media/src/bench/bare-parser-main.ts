import { buffer } from 'node:stream/consumers';

/** The libraries alone, as the documentation of each uses it: reads one document from the input and writes its text. */
const READERS: Readonly<Record<string, (bytes: Buffer) => Promise<string>>> = {
  async pdf(bytes) {
    const { getDocument } = await import('pdfjs-dist/legacy/build/pdf.mjs');
    const document = await getDocument({ data: new Uint8Array(bytes), verbosity: 0 }).promise;
    const pages: string[] = [];
    for (let number = 1; number <= document.numPages; number++) {
      const { items } = await (await document.getPage(number)).getTextContent();
      pages.push(items.map((item) => ('str' in item ? item.str : '')).join(' '));
    }
    return pages.join('\n');
  },
  async docx(bytes) {
    const { default: mammoth } = await import('mammoth');
    return (await mammoth.convertToHtml({ buffer: bytes })).value;
  },
  async xlsx(bytes) {
    const { read, utils } = await import('@e965/xlsx');
    const book = read(bytes, { type: 'buffer' });
    return book.SheetNames.map((name) => utils.sheet_to_csv(book.Sheets[name] ?? {})).join('\n');
  },
};

const [format = ''] = process.argv.slice(2);
const text = await READERS[format]?.(await buffer(process.stdin));
process.stdout.write(text ?? '', () => process.exit(0));
