import { crc32, deflateSync, gzipSync } from 'node:zlib';
import { utils, write } from '@e965/xlsx';
import { encodeWav } from '@switchyard/models';
import { zip } from './parsers/formats/office-files.fixture.ts';

const MIB = 1_048_576;
const MP4 = Buffer.from('000000186674797069736f6d0000020069736f6d69736f32', 'hex');
const PNG_SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');

const random = (bytes: number): Buffer => Buffer.from(Array.from({ length: bytes }, (_, at) => (at * 7_919 + (at >> 3) * 31 + 17) % 256));

/** A GIF of this many frames of one pixel. */
function gif(frames: number): Buffer {
  const head = Buffer.from('47494638396101000100800000ff0000ffffff', 'hex');
  const frame = Buffer.from('2c00000000010001000002024401003b'.slice(0, -2), 'hex');
  return Buffer.concat([head, ...Array.from({ length: frames }, () => frame), Buffer.from([0x3b])]);
}

/** A picture that announces this width and height, with the data of a few rows. */
function png(side: number): Buffer {
  const chunk = (type: string, data: Buffer): Buffer => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
    const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    check.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, check]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(side, 0);
  header.writeUInt32BE(side, 4);
  header.set([8, 0], 8);
  const rows = deflateSync(Buffer.alloc(8 * (side + 1)));
  return Buffer.concat([PNG_SIGNATURE, chunk('IHDR', header), chunk('IDAT', rows), chunk('IEND', Buffer.alloc(0))]);
}

function deepSheet(): Buffer {
  const book = utils.book_new();
  utils.book_append_sheet(book, { A1048576: { t: 's', v: 'last' }, '!ref': 'A1:A1048576' }, 'Deep');
  return write(book, { type: 'buffer', bookType: 'xlsx' }) as Buffer;
}

function nestedZip(depth: number): Buffer {
  let file = zip({ 'a.txt': 'text' });
  for (let level = 0; level < depth; level++) file = zip({ 'a.zip': file });
  return file;
}

const entities = `<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "lol">${Array.from({ length: 9 }, (_, at) => `<!ENTITY a${at} "${`&a${at || ''};`.repeat(10)}">`).join('')}]><lolz>&a8;</lolz>`;

/** Each file is a text, a named refusal or a named limit: never an internal error, a hang, or the end of the service. */
export const HOSTILE_FILES: Readonly<Record<string, Buffer>> = {
  'zero bytes': Buffer.alloc(0),
  'random bytes': random(200_000),
  'a GIF of 10,000 frames': gif(10_000),
  'a PNG of 64k x 64k': png(65_535),
  'MP4 named .ogg': MP4,
  'a gzip bomb': gzipSync(Buffer.alloc(50_000_000)),
  'a zip in a zip': nestedZip(20),
  'one cell in the last row': deepSheet(),
  'XML with entities': Buffer.from(entities),
  'a PDF of open objects': Buffer.from(`%PDF-1.7\n${'1 0 obj\n<< /Type /Catalog /Pages 1 0 R >>\n'.repeat(20_000)}`),
  'nested brackets': Buffer.from('['.repeat(500_000)),
  'a page of open elements': Buffer.from(`<html><body>${'<div>'.repeat(100_000)}text`),
  'a mail in a mail': Buffer.from('From: a@x.example\r\nTo: b@x.example\r\nContent-Type: message/rfc822\r\n\r\n'.repeat(500)),
  'a text of the maximum size': Buffer.alloc(10 * MIB, 'The train leaves at nine. '),
  'a sound of 10 MiB': Buffer.from(encodeWav(new Int16Array(5 * MIB), 8_000)),
};
