import { crc32, deflateRawSync } from 'node:zlib';

interface ZipOptions {
  /** General purpose flags of all entries; 1 is encrypted. */
  flags?: number;
  /** Unix mode of all entries. */
  mode?: number;
}

/** Returns an archive of these files. Names are written as they are. */
export function zip(
  files: readonly (readonly [name: string, content: string | Uint8Array])[],
  { flags = 0, mode = 0o100644 }: ZipOptions = {},
): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of files) {
    const data = Buffer.from(content as Uint8Array);
    const packed = deflateRawSync(data);
    const bytes = Buffer.from(name);
    const head = Buffer.alloc(30);
    head.writeUInt32LE(0x04034b50, 0);
    head.writeUInt16LE(20, 4);
    head.writeUInt16LE(flags | 0x800, 6);
    head.writeUInt16LE(8, 8);
    head.writeUInt32LE(crc32(data), 14);
    head.writeUInt32LE(packed.length, 18);
    head.writeUInt32LE(data.length, 22);
    head.writeUInt16LE(bytes.length, 26);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    head.copy(entry, 6, 4, 30);
    entry.writeUInt32LE((mode << 16) >>> 0, 38);
    entry.writeUInt32LE(offset, 42);
    parts.push(head, bytes, packed);
    directory.push(entry, bytes);
    offset += head.length + bytes.length + packed.length;
  }
  const size = directory.reduce((sum, { length }) => sum + length, 0);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(size, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, ...directory, end]);
}
