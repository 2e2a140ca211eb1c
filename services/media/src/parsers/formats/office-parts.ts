import { findAll, localName, parseXml } from '../text/xml.ts';

/** Files of an office document by their paths in the archive. */
export type OfficeFiles = ReadonlyMap<string, Buffer>;

/** Elements between the texts of a paragraph that separate words. */
const SPACES = ['tab', 'br', 'cr'];

/** The paragraphs below a node, each in one line and without empty ones. */
export function readParagraphs(node: Parameters<typeof findAll>[0]): string[] {
  return findAll(node, 'p')
    .map((paragraph) =>
      findAll(paragraph, 't', ...SPACES)
        .map((part) => (localName(part) === 't' ? (part.textContent ?? '') : ' '))
        .join('')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    )
    .filter((text) => text !== '');
}

/** Parses the files whose paths match, in the order of their names. */
export function parseParts(files: OfficeFiles, pattern: RegExp) {
  const paths = [...files.keys()].filter((path) => pattern.test(path));
  return paths
    .toSorted((one, other) => one.localeCompare(other, 'en', { numeric: true }))
    .map((path) => parseXml(files.get(path) ?? Buffer.alloc(0)));
}

/** The texts of the diagrams (SmartArt) of a document. */
export function readDiagrams(files: OfficeFiles): string[] {
  return parseParts(files, /\/diagrams\/data\d*\.xml$/).flatMap(readParagraphs);
}

/** The title, the categories, and the values of each chart of a document, a line for each series. */
export function readCharts(files: OfficeFiles): string[] {
  return parseParts(files, /\/charts\/chart\d*\.xml$/).flatMap((chart) => {
    const titles = findAll(chart, 'title').flatMap(readParagraphs);
    const series = findAll(chart, 'ser').map((one) =>
      findAll(one, 'v')
        .map(({ textContent }) => (textContent ?? '').trim())
        .filter((value) => value !== '')
        .join(', '),
    );
    return [...titles, ...series].filter((line) => line !== '');
  });
}

/** A part of the Markdown under a name, or nothing if it has no lines. */
export function section(name: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`${name}:\n${lines.map((line) => `- ${line}`).join('\n')}`];
}
