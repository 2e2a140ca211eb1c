import { crc32, deflateRawSync } from 'node:zlib';

/** Writes a ZIP archive. The announced sizes can be wrong. */
export function zip(
  files: Readonly<Record<string, string | Buffer>>,
  { flags = 0, claimedSize }: { flags?: number; claimedSize?: number } = {},
): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of Object.entries(files)) {
    const data = Buffer.from(content as string);
    const packed = deflateRawSync(data);
    const head = Buffer.alloc(30);
    head.writeUInt32LE(0x04034b50, 0);
    head.writeUInt16LE(20, 4);
    head.writeUInt16LE(flags, 6);
    head.writeUInt16LE(8, 8);
    head.writeUInt32LE(crc32(data), 14);
    head.writeUInt32LE(packed.length, 18);
    head.writeUInt32LE(claimedSize ?? data.length, 22);
    head.writeUInt16LE(name.length, 26);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    head.copy(entry, 6, 4, 30);
    entry.writeUInt32LE(offset, 42);
    directory.push(entry, Buffer.from(name));
    parts.push(head, Buffer.from(name), packed);
    offset += 30 + name.length + packed.length;
  }
  const size = directory.reduce((sum, { length }) => sum + length, 0);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  const count = Object.keys(files).length;
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(size, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, ...directory, end]);
}

/** Writes an archive whose first entry is its type without compression, as OpenDocument and EPUB require, so that the type can be read. */
export function zipWithType(type: string, files: Readonly<Record<string, string>>): Buffer {
  const stored = Buffer.alloc(30);
  stored.writeUInt32LE(0x04034b50, 0);
  stored.writeUInt16LE(20, 4);
  stored.writeUInt32LE(crc32(Buffer.from(type)), 14);
  stored.writeUInt32LE(type.length, 18);
  stored.writeUInt32LE(type.length, 22);
  stored.writeUInt16LE('mimetype'.length, 26);
  const first = Buffer.concat([stored, Buffer.from('mimetype'), Buffer.from(type)]);
  const rest = zip(files);
  const end = rest.length - 22;
  const start = rest.readUInt32LE(end + 16);
  const directory = Buffer.from(rest.subarray(start, end));
  for (let at = 0; at < directory.length;) {
    directory.writeUInt32LE(directory.readUInt32LE(at + 42) + first.length, at + 42);
    at += 46 + directory.readUInt16LE(at + 28);
  }
  const entry = Buffer.alloc(46);
  entry.writeUInt32LE(0x02014b50, 0);
  stored.copy(entry, 6, 4, 30);
  const tail = Buffer.from(rest.subarray(end));
  const own = Buffer.concat([entry, Buffer.from('mimetype')]);
  const count = tail.readUInt16LE(8) + 1;
  tail.writeUInt16LE(count, 8);
  tail.writeUInt16LE(count, 10);
  tail.writeUInt32LE(directory.length + own.length, 12);
  tail.writeUInt32LE(first.length + start, 16);
  return Buffer.concat([first, rest.subarray(0, start), own, directory, tail]);
}

export const CONTENT_TYPES = (part: string, type: string): string =>
  `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="${part}" ContentType="${type}"/></Types>`;
export const WORD_TYPE = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml';
export const SLIDES_TYPE = 'application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml';
export const RELS = (target: string): string =>
  `<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="${target}"/></Relationships>`;

export function docx(body: string, more: Record<string, string | Buffer> = {}): Buffer {
  return zip({
    '[Content_Types].xml': CONTENT_TYPES('/word/document.xml', WORD_TYPE),
    '_rels/.rels': RELS('word/document.xml'),
    'word/document.xml': `<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>${body}</w:body></w:document>`,
    ...more,
  });
}
